// Play random games of the exported connect four. tensor_envs/export/README.md has the commands.
unsafe extern "C" {
    fn connect_four_seed(keys: *mut u32, seed_low: i32, seed_high: i32, first_row: i32, blocks: i32);
    fn connect_four_init(states: *mut u32, keys: *const u32, blocks: i32);
    fn connect_four_rollout(states: *mut u32, keys: *const u32, totals: *mut f32, steps: i32, blocks: i32);
}

fn main() {
    let (mut states, mut keys, mut totals) = ([0; 10 * 64], [0; 5 * 64], [0.0; 4 * 64]);
    unsafe {
        connect_four_seed(keys.as_mut_ptr(), 42, 0, 0, 1);
        connect_four_init(states.as_mut_ptr(), keys.as_ptr(), 1);
        connect_four_rollout(states.as_mut_ptr(), keys.as_ptr(), totals.as_mut_ptr(), 1000, 1);
    }
    println!("64 games: {} episodes won", totals[2 * 64..].iter().sum::<f32>()); // [2 returns, 2 wins, 64]
}
