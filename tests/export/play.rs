// A program that plays the exported connect four and writes all that it computes, for tests/export/test_export.py.
use std::io::Write;

const LANES: usize = 64;
const WORDS: usize = 10;
const ACTIONS: usize = 7;

unsafe extern "C" {
    fn connect_four_seed(keys: *mut u32, seed_low: i32, seed_high: i32, first_row: i32, blocks: i32);
    fn connect_four_init(states: *mut u32, keys: *const u32, blocks: i32);
    fn connect_four_step(states: *mut u32, keys: *const u32, actions: *const i32, blocks: i32);
    fn connect_four_reset(states: *mut u32, keys: *const u32, blocks: i32);
    fn connect_four_sample(states: *const u32, keys: *const u32, actions: *mut i32, blocks: i32);
    fn connect_four_observe(states: *const u32, observations: *mut u8, blocks: i32);
    fn connect_four_mask(states: *const u32, masks: *mut u8, blocks: i32);
    fn connect_four_rollout(states: *mut u32, keys: *const u32, totals: *mut f32, steps: i32, blocks: i32);
}

fn write<T>(values: &[T]) {
    let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr() as *const u8, size_of_val(values)) };
    std::io::stdout().write_all(bytes).unwrap();
}

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).map(|x| x.parse().unwrap()).collect();
    let (seed, games, steps, turns) = (numbers[0], numbers[1] as usize, numbers[2] as usize, numbers[3] as i32);
    let blocks = (games / LANES) as i32;
    let (mut states, mut keys) = (vec![0u32; games * WORDS], vec![0u32; games * 5]);
    let (mut actions, mut totals) = (vec![0i32; games], vec![0f32; games * 4]);
    let (mut masks, mut observations) = (vec![0u8; games * ACTIONS], vec![0u8; games * 84]);
    unsafe {
        connect_four_seed(keys.as_mut_ptr(), seed as i32, (seed >> 32) as i32, 0, blocks);
        connect_four_init(states.as_mut_ptr(), keys.as_ptr(), blocks);
        write(&keys);
        write(&states);
        for step in 0..steps {
            connect_four_sample(states.as_ptr(), keys.as_ptr(), actions.as_mut_ptr(), blocks);
            for game in (0..games).filter(|game| (game + step) % 13 == 0) {
                let turn = game + step;
                actions[game] = if turn % 26 > 0 { (turn % (ACTIONS + 2)) as i32 - 1 } else { -1 };
            }
            write(&actions);
            connect_four_step(states.as_mut_ptr(), keys.as_ptr(), actions.as_ptr(), blocks);
            write(&states);
            if step % 8 == 0 {
                connect_four_mask(states.as_ptr(), masks.as_mut_ptr(), blocks);
                connect_four_observe(states.as_ptr(), observations.as_mut_ptr(), blocks);
                write(&masks);
                write(&observations);
            }
            if step % 2 == 1 {
                connect_four_reset(states.as_mut_ptr(), keys.as_ptr(), blocks);
            }
        }
        connect_four_reset(states.as_mut_ptr(), keys.as_ptr(), blocks);
        connect_four_rollout(states.as_mut_ptr(), keys.as_ptr(), totals.as_mut_ptr(), turns, blocks);
    }
    write(&states);
    write(&totals);
}
