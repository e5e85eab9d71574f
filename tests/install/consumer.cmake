# The CMakeLists.txt of an outside program; install_test.sh puts it beside installed_answer.c.
cmake_minimum_required(VERSION 3.22)
project(answer C)
set(CMAKE_C_STANDARD 11)
find_package(glinfer 0.2 REQUIRED)
add_executable(answer installed_answer.c)
target_link_libraries(answer PRIVATE glinfer::glinfer)
