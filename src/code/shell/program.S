// The driver of shells, carried inside cay.
    .section .rodata
    .balign 16
    .globl cay_shell_driver
    .globl cay_shell_driver_end
cay_shell_driver:
    .incbin CAY_SHELL_DRIVER
cay_shell_driver_end:
    .section .note.GNU-stack, "", %progbits
