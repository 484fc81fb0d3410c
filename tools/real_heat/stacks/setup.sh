#!/bin/sh
echo "$colour" > "$heat_outputs_path.result"
