/* Threefry-2x32-20 (tensor_envs/_engine/random.py) for scalars and vectors.

   Compiled free-standing, so there are no headers to include. */
typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef __UINT64_TYPE__ u64;
typedef __INT32_TYPE__ i32;
typedef __INT64_TYPE__ i64;

#define VECTOR(type, lanes) type __attribute__((ext_vector_type(lanes)))
#define INLINE static inline __attribute__((always_inline))

#define PARITY 0x1BD11BDAu
#define ROUND(x, y, r) (x += y, y = ((y) << (r) | (y) >> (32 - (r))) ^ x)
#define ROUNDS(x, y, a, b, c, d) (ROUND(x, y, a), ROUND(x, y, b), ROUND(x, y, c), ROUND(x, y, d))

/* x and y: the counter's words, to which the key's words k0 and k1 have been added; k2 = k0 ^ k1 ^ PARITY.
   They become the output words, except for y's last addition, k0 + 5: only x is used. */
#define THREEFRY(x, y, k0, k1, k2)                                                            \
  (ROUNDS(x, y, 13, 15, 26, 6), x += k1, y += k2 + 1, ROUNDS(x, y, 17, 29, 16, 24), x += k2,  \
   y += k0 + 2, ROUNDS(x, y, 13, 15, 26, 6), x += k0, y += k1 + 3,                            \
   ROUNDS(x, y, 17, 29, 16, 24), x += k1, y += k2 + 4, ROUNDS(x, y, 13, 15, 26, 6), x += k2)
