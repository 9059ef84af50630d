#include <iostream>

int main() { std::cout << "hello c++\n"; }
