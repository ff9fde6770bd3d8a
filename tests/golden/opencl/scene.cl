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

typedef union Tag_s {
    int whole;
    float real;
    uint bits;
} Tag_t;

typedef struct Body_s {
    uchar alive;
    double mass;
    char padding[4];
    Tag_t tag;
    char trace[18] __attribute__((aligned(2)));
    float corner[2][2];
    int aligned __attribute__((aligned(16)));
} Body_t;

typedef struct Scene_s {
    int n;
    Body_t fixed[2];
    char tail_padding[16];
} __attribute__((aligned(64))) Scene_t;

static inline __global Body_t *Scene_body(__global Scene_t *s) {
    return (__global Body_t *)(s + 1);
}

__kernel void tb_scene(__global Scene_t *s, int s_n, int max_x, int max_y, int max_z) {
    KernelContext_t kernel_context;
    KernelContext_t *kc = &kernel_context;
    kc->x = get_global_id(0);
    kc->y = get_global_id(1);
    kc->z = get_global_id(2);
    kc->max_x = max_x;
    kc->max_y = max_y;
    kc->max_z = max_z;
    if (is_beyond_range(kc)) return;
    __global Body_t *s_body = Scene_body(s);

    __global Body_t *body = &s_body[kc->x];
    body->alive = s->fixed[kc->x % 2].alive == 0;
    body->mass = (double)kc->x / 2.0;
    body->tag.real = (float)kc->x + 0.5f;
    body->aligned = (int)(body->tag.bits >> 16u);
    for (int k = 0; k < 3; ++k) {
        *(__global short *)((__global char *)body->trace + (long)k * 6) = (short)((uint)kc->x * 10 + k);
    }
    body->corner[1][0] = body->alive != 0 ? s->fixed[1].corner[0][1] : -1.0f;
}
