#!/bin/sh
# Records the two flite voices of this folder (Debian packages flite and sox): band-limited 8 kHz µ-law with 120 ms of quiet
# room at both ends, whole frames of 160 bytes. The voice "caller" is recorded by crates/server/examples/record_caller.rs.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
while IFS="$(printf '\t')" read -r file text; do
    voice=${file%%/*}
    [ "$voice" = caller ] && continue
    mkdir -p "$voice"
    flite -voice "$voice" -t "$text" -o "$work/raw.wav"
    # -R: repeatable dither. The telephone's band first, then the level, then the room.
    sox -R "$work/raw.wav" -r 8000 -c 1 "$work/words.wav" sinc 300-3400 silence 1 0.01 0.5% reverse silence 1 0.01 0.5% reverse \
        norm -6 pad 0.12 0.12
    sox -R -n -r 8000 -c 1 "$work/room.wav" synth "$(soxi -D "$work/words.wav")" whitenoise vol 0.0017
    sox -R -m -v 1 "$work/words.wav" -v 1 "$work/room.wav" -t raw -e mu-law -b 8 "$work/out.ulaw"
    size=$(wc -c < "$work/out.ulaw")
    head -c $((size / 160 * 160)) "$work/out.ulaw" > "$file"
done < truth.tsv
