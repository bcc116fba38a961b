/* Thread pool: runs the programs of a launch one after another, each on several threads. It is linked to no library;
   threads.py passes the functions that it calls.

   A program (job) is divided into parts: blocks of games, or the cores for which tinygrad wrote it. Neighbouring parts
   form a slice, and each thread takes the next slice until none is left. */
typedef unsigned long long u64;

enum { WHOLE, BLOCKS, CORES }; /* parts of a program: one, blocks of games, cores */

typedef struct {
  u64 function, arguments; /* address, number of arguments */
  u64 kind;                /* one of the above */
  u64 divided_argument;    /* the argument that selects parts: a range of blocks, or a core */
  u64 parts;               /* number of parts */
  u64 *cost;               /* measured: nanoseconds per part, times 1024 */
  u64 argument[];
} Job;

typedef struct {
  int (*lock)(void *), (*unlock)(void *), (*wait)(void *, void *), (*signal)(void *);
  int (*create)(void *, void *, void *, void *), (*clock)(int, void *);
  u64 clock_id, mutex[16], attributes[16], work[16], finished[16]; /* large enough for the objects of any system */
  void *entry;           /* the function `entry` below, in which a new thread starts */
  u64 launch[2];         /* its argument for a new thread: a launch of no programs */
  u64 threads, min_work; /* maximum number of threads; nanoseconds of work that pay for another thread */
  u64 workers, asleep;   /* threads besides the caller; those that wait for the condition `work` */
  u64 waiting, busy;     /* whether the caller waits for `finished`; whether the pool runs a job */
  u64 generation;        /* number of jobs that the pool has run */
  u64 next, slices, done, spent; /* of the current job: next slice, number of slices, finished ones, nanoseconds */
  Job *job;
} Pool;

#define SLICES 4     /* slices per thread: a thread that is held up takes fewer than the others */
#define SPIN 50000   /* nanoseconds of busy waiting before a thread sleeps */
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

/* Run `count` parts of a job, from part `first` on. A function may be called with more arguments than it has. */
STATIC void run_parts(Job *job, u64 first, u64 count) {
  u64 a[64];
  int block_range[2] = {(int)first, (int)count};
  for (u64 k = 0; k < (job->arguments + 7) / 8 * 8; k++) a[k] = k < job->arguments ? job->argument[k] : 0;
  if (job->kind == BLOCKS) a[job->divided_argument] = (u64)block_range;
  u64 end = job->kind == CORES ? first + count : first + 1;
  for (u64 core = first; core < end; core++) {
    if (job->kind == CORES) a[job->divided_argument] = core;
    if (job->arguments <= 8) ((void (*)(T8))job->function)(A8(0));
    else if (job->arguments <= 16) ((void (*)(T8, T8))job->function)(A8(0), A8(8));
    else ((void (*)(T8, T8, T8, T8, T8, T8, T8, T8))job->function)(
        A8(0), A8(8), A8(16), A8(24), A8(32), A8(40), A8(48), A8(56));
  }
}

/* Run slices of the current job until none is left. The lock is held before and after. */
STATIC void run_slices(Pool *p) {
  while (p->next < p->slices) {
    Job *job = p->job;
    u64 first = job->parts * p->next / p->slices, end = job->parts * (p->next + 1) / p->slices;
    p->next++;
    p->unlock(p->mutex);
    u64 start = now(p);
    run_parts(job, first, end - first);
    u64 spent = now(p) - start;
    p->lock(p->mutex);
    p->spent += spent;
    WRITE(p->done, p->done + 1);
    if (p->done == p->slices && p->waiting) p->signal(p->finished);
  }
}

/* Wait busily, for a limited time, until a number has a value (until_it_is = 1) or has it no more (0). The lock is held
   before and after. */
STATIC void spin(Pool *p, u64 *number, u64 value, int until_it_is) {
  p->unlock(p->mutex);
  u64 start = now(p);
  do for (int k = 0; k < 32 && (READ(*number) == value) != until_it_is; k++) PAUSE;
  while ((READ(*number) == value) != until_it_is && now(p) - start < SPIN);
  p->lock(p->mutex);
}

/* Run slices of one job after another, forever. */
STATIC void work(Pool *p) {
  p->lock(p->mutex);
  for (;;) {
    run_slices(p);
    u64 last = p->generation;
    spin(p, &p->generation, last, 0);
    while (p->generation == last) {
      p->asleep++;
      p->wait(p->work, p->mutex);
      p->asleep--;
    }
  }
}

/* Run a job on several threads, and return the nanoseconds that all of them have worked; 0 if the pool is busy. */
STATIC u64 run_together(Pool *p, Job *job, u64 threads) {
  p->lock(p->mutex);
  u64 spent = 0;
  if (!p->busy) {
    p->busy = 1, p->job = job, p->next = p->done = p->spent = 0;
    p->slices = threads * SLICES < job->parts ? threads * SLICES : job->parts;
    WRITE(p->generation, p->generation + 1);
    u64 thread;
    while (p->workers + 1 < threads && !p->create(&thread, p->attributes, p->entry, p->launch)) p->workers++;
    for (u64 k = 1; k < threads && k <= p->asleep; k++) p->signal(p->work);
    run_slices(p);
    if (p->done < p->slices) spin(p, &p->done, p->slices, 1);
    p->waiting = 1;
    while (p->done < p->slices) p->wait(p->finished, p->mutex);
    p->waiting = p->busy = 0;
    spent = p->spent ? p->spent : 1;
  }
  p->unlock(p->mutex);
  return spent;
}

/* Run a job, on as many threads as its measured cost pays for. */
STATIC void run(Pool *p, Job *job) {
  if (job->kind == WHOLE || job->parts == 1) {
    run_parts(job, 0, 1);
    return;
  }
  u64 threads = (*job->cost * job->parts >> 10) / p->min_work, spent = 0;
  if (threads > p->threads) threads = p->threads;
  if (threads > 1) spent = run_together(p, job, threads);
  if (!spent) {
    u64 start = now(p);
    run_parts(job, 0, job->parts);
    spent = now(p) - start;
  }
  u64 cost = (spent << 10) / job->parts;
  /* A higher cost counts by half: the threads may have been held up this once. */
  *job->cost = *job->cost && cost > *job->cost ? (cost + *job->cost) / 2 : cost;
}

/* Run a launch: address of the pool, number of jobs, the jobs. Without a job the thread becomes a worker. All other
   functions are inlined, so the program begins here. */
void entry(u64 *launch) {
  Pool *p = (Pool *)launch[0];
  if (!launch[1]) work(p);
  u64 *job = launch + 2;
  for (u64 k = launch[1]; k; k--) {
    run(p, (Job *)job);
    job += 6 + ((Job *)job)->arguments;
  }
}
