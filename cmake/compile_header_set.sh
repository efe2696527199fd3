#!/bin/sh
# compile_header_set.sh COMPILE_COMMAND...: compiles a precompiled header through ccache.
# What an earlier build left goes first. ccache's preprocessor would read it in place of the headers,
# so that its key says nothing of what they are now, and an old result would be given out.
for word; do
  case $word in *.gch) rm -f "$word" ;; esac
done
exec "$@"
