from greeting import hello

print(hello("python"))
