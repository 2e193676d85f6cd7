# Writes a text file as one string of C. Run it with -DTEXT=the file -DOUT=the header.
cmake_minimum_required(VERSION 3.25)
file(READ ${TEXT} text)
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REGEX REPLACE "\n$" "" text "${text}")
string(REPLACE "\n" "\\n\"\n\"" text "${text}")
file(WRITE ${OUT} "\"${text}\\n\"\n")
