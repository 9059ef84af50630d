// The launcher program, carried inside cay (design: one program to install).
    .section .rodata
    .balign 16
    .globl cay_launcher_blob
    .globl cay_launcher_blob_end
cay_launcher_blob:
    .incbin CAY_LAUNCHER_PATH
cay_launcher_blob_end:
    .section .note.GNU-stack, "", %progbits
