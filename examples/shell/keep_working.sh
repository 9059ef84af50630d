#!/bin/sh
# A sandbox that stays: files in, work in the background, results out.
set -eu
name=example-$$
cay create --name "$name"
trap 'cay rm "$name"' EXIT
printf 'beta\nalpha\n' > "/tmp/$name.txt"
cay cp "/tmp/$name.txt" "$name:/root/words"
id=$(cay exec -d "$name" -- sh -c 'sort /root/words > /root/sorted; echo sorted')
cay logs --follow "$name" "$id"
cay cp "$name:/root/sorted" -
rm "/tmp/$name.txt"
