#pragma OPENCL FP_CONTRACT OFF

typedef struct KernelContext_s {
    int x;
    int y;
    int z;
    int max_x;
    int max_y;
    int max_z;
} KernelContext_t;

static inline bool is_beyond_range(KernelContext_t *kc) {
    bool is_edge_group = (get_group_id(0) + 1) * get_local_size(0) > kc->max_x
        || (get_group_id(1) + 1) * get_local_size(1) > kc->max_y
        || (get_group_id(2) + 1) * get_local_size(2) > kc->max_z;
    return is_edge_group && (kc->x >= kc->max_x || kc->y >= kc->max_y || kc->z >= kc->max_z);
}

typedef struct Particles_s {
    int n;
} Particles_t;

static inline __global uchar *Particles_alive(__global Particles_t *s) {
    return (__global uchar *)(s + 1);
}

static inline __global double *Particles_position(__global Particles_t *s, int s_n) {
    long end = (__global char *)Particles_alive(s) - (__global char *)s + (long)s_n;
    return (__global double *)((__global char *)s + (end + 7) / 8 * 8);
}

static inline __global uchar *Particles_kind(__global Particles_t *s, int s_n) {
    long end = (__global char *)Particles_position(s, s_n) - (__global char *)s + (long)s_n * 3 * 8;
    return (__global uchar *)((__global char *)s + end);
}

static inline __global int *Particles_count(__global Particles_t *s, int s_n) {
    long end = (__global char *)Particles_kind(s, s_n) - (__global char *)s + (long)s_n;
    return (__global int *)((__global char *)s + (end + 3) / 4 * 4);
}

static inline __global long *Particles_total(__global Particles_t *s, int s_n) {
    long end = (__global char *)Particles_count(s, s_n) - (__global char *)s + 4;
    return (__global long *)((__global char *)s + (end + 7) / 8 * 8);
}

__kernel void tb_particles(__global Particles_t *p, int p_n, int max_x, int max_y, int max_z) {
    KernelContext_t kernel_context;
    KernelContext_t *kc = &kernel_context;
    kc->x = get_global_id(0);
    kc->y = get_global_id(1);
    kc->z = get_global_id(2);
    kc->max_x = max_x;
    kc->max_y = max_y;
    kc->max_z = max_z;
    if (is_beyond_range(kc)) return;
    __global uchar *p_alive = Particles_alive(p);
    __global double *p_position = Particles_position(p, p_n);
    __global int *p_count = Particles_count(p, p_n);
    __global uchar *p_kind = Particles_kind(p, p_n);
    __global long *p_total = Particles_total(p, p_n);

    if (p_alive[kc->x] == 0) {
        return;
    }
    for (int axis = 0; axis < 3; ++axis) {
        p_position[(long)kc->x * 3 + axis] = p_position[(long)kc->x * 3 + axis] * 2.0;
    }
    int t = atomic_add(p_count, 1);
    if (t == 0) {
        *p_total = (long)p_n * (long)p_kind[kc->x];
    }
}
