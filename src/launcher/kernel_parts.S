// The kernel parts (*.bpf.c), carried inside the launcher.
    .section .rodata
    .balign 16
    .globl cay_programs_blob
    .globl cay_programs_blob_end
cay_programs_blob:
    .incbin CAY_PROGRAMS_PATH
cay_programs_blob_end:
    .balign 16
    .globl cay_oom_victims_blob
    .globl cay_oom_victims_blob_end
cay_oom_victims_blob:
    .incbin CAY_OOM_VICTIMS_PATH
cay_oom_victims_blob_end:
    .section .note.GNU-stack, "", %progbits
