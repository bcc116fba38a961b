/* All cores: plays the programs of a launch, each by threads that take slices of it. No library: see threads.py. */
typedef unsigned long long u64;

enum { WHOLE, BLOCKS, CORES }; /* what a slice of a program is: nothing, blocks of games, numbers of a core */

typedef struct {
  u64 function, arguments; /* address, number of arguments */
  u64 kind, place, parts;  /* of slices; the argument that tells them apart; how many blocks or cores */
  u64 *cost;               /* measured: nanoseconds a part, times 1024 */
  u64 argument[];
} Job;

typedef struct {
  int (*lock)(void *), (*unlock)(void *), (*wait)(void *, void *), (*signal)(void *);
  int (*create)(void *, void *, void *, void *), (*clock)(int, void *);
  u64 clock_id, mutex[16], attributes[16], work[16], finished[16]; /* larger than any system's own */
  void *entry;
  u64 launch[2];                /* what it gets for a worker: no program */
  u64 threads, min_work;        /* upper bound; nanoseconds of work that justify a thread */
  u64 workers, asleep, waiting, busy;
  u64 generation, next, slices, done, spent; /* of the job that is played now */
  Job *job;
} Pool;

#define SLICES 4     /* a thread: who is held up takes fewer */
#define SPIN 50000   /* nanoseconds that somebody waits awake */
#define READ(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define WRITE(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELEASE)
#define STATIC static inline __attribute__((always_inline))
#if defined(__x86_64__)
#define PAUSE __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE __asm__ volatile("yield")
#else
#define PAUSE
#endif

STATIC u64 now(Pool *p) {
  u64 t[2];
  p->clock((int)p->clock_id, t);
  return t[0] * 1000000000 + t[1];
}

#define A8(k) a[k], a[k + 1], a[k + 2], a[k + 3], a[k + 4], a[k + 5], a[k + 6], a[k + 7]
#define T8 u64, u64, u64, u64, u64, u64, u64, u64

/* a function may be called with more arguments than it has */
STATIC void play(Job *job, u64 first, u64 count) {
  u64 a[64];
  int share[2] = {(int)first, (int)count};
  for (u64 k = 0; k < (job->arguments + 7) / 8 * 8; k++) a[k] = k < job->arguments ? job->argument[k] : 0;
  if (job->kind == BLOCKS) a[job->place] = (u64)share;
  u64 end = job->kind == CORES ? first + count : first + 1;
  for (u64 core = first; core < end; core++) {
    if (job->kind == CORES) a[job->place] = core;
    if (job->arguments <= 8) ((void (*)(T8))job->function)(A8(0));
    else if (job->arguments <= 16) ((void (*)(T8, T8))job->function)(A8(0), A8(8));
    else ((void (*)(T8, T8, T8, T8, T8, T8, T8, T8))job->function)(
        A8(0), A8(8), A8(16), A8(24), A8(32), A8(40), A8(48), A8(56));
  }
}

/* take slices of the present job until none is left; the lock is held before and after */
STATIC void help(Pool *p) {
  while (p->next < p->slices) {
    Job *job = p->job;
    u64 first = job->parts * p->next / p->slices, end = job->parts * (p->next + 1) / p->slices;
    p->next++;
    p->unlock(p->mutex);
    u64 start = now(p);
    play(job, first, end - first);
    u64 spent = now(p) - start;
    p->lock(p->mutex);
    p->spent += spent;
    WRITE(p->done, p->done + 1);
    if (p->done == p->slices && p->waiting) p->signal(p->finished);
  }
}

/* wait awake, for a while, until a number is another; the lock is held before and after */
STATIC void watch(Pool *p, u64 *number, u64 value, int until_it_is) {
  p->unlock(p->mutex);
  u64 start = now(p);
  do for (int k = 0; k < 32 && (READ(*number) == value) != until_it_is; k++) PAUSE;
  while ((READ(*number) == value) != until_it_is && now(p) - start < SPIN);
  p->lock(p->mutex);
}

STATIC void work(Pool *p) {
  p->lock(p->mutex);
  for (;;) {
    help(p);
    u64 seen = p->generation;
    watch(p, &p->generation, seen, 0);
    while (p->generation == seen) {
      p->asleep++;
      p->wait(p->work, p->mutex);
      p->asleep--;
    }
  }
}

/* the nanoseconds that all threads have worked; 0 if the pool plays another launch */
STATIC u64 together(Pool *p, Job *job, u64 threads) {
  p->lock(p->mutex);
  u64 spent = 0;
  if (!p->busy) {
    p->busy = 1, p->job = job, p->next = p->done = p->spent = 0;
    p->slices = threads * SLICES < job->parts ? threads * SLICES : job->parts;
    WRITE(p->generation, p->generation + 1);
    u64 thread;
    while (p->workers + 1 < threads && !p->create(&thread, p->attributes, p->entry, p->launch)) p->workers++;
    for (u64 k = 1; k < threads && k <= p->asleep; k++) p->signal(p->work);
    help(p);
    if (p->done < p->slices) watch(p, &p->done, p->slices, 1);
    p->waiting = 1;
    while (p->done < p->slices) p->wait(p->finished, p->mutex);
    p->waiting = p->busy = 0;
    spent = p->spent ? p->spent : 1;
  }
  p->unlock(p->mutex);
  return spent;
}

STATIC void run(Pool *p, Job *job) {
  if (job->kind == WHOLE || job->parts == 1) {
    play(job, 0, 1);
    return;
  }
  u64 threads = (*job->cost * job->parts >> 10) / p->min_work, spent = 0;
  if (threads > p->threads) threads = p->threads;
  if (threads > 1) spent = together(p, job, threads);
  if (!spent) {
    u64 start = now(p);
    play(job, 0, job->parts);
    spent = now(p) - start;
  }
  u64 cost = (spent << 10) / job->parts;
  *job->cost = *job->cost && cost > *job->cost ? (cost + *job->cost) / 2 : cost; /* held up once is not slow */
}

/* the first function: pool, number of programs, their jobs; without any it is a worker's life */
void entry(u64 *launch) {
  Pool *p = (Pool *)launch[0];
  if (!launch[1]) work(p);
  u64 *job = launch + 2;
  for (u64 k = launch[1]; k; k--) {
    run(p, (Job *)job);
    job += 6 + ((Job *)job)->arguments;
  }
}
