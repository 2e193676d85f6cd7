# Writes the lines of a text file as strings of C, to be included in an array. Run it with -DTEXT=the file -DOUT=the header.
cmake_minimum_required(VERSION 3.25)
file(READ ${TEXT} text)
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REGEX REPLACE "\n$" "" text "${text}")
string(REPLACE "\n" "\",\n\"" text "${text}")
file(WRITE ${OUT} "\"${text}\",\n")
