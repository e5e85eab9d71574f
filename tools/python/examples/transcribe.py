"""transcribe.py WHISPER SOUND.wav: prints what is said, with times."""
import sys

import glinfer

model = glinfer.load(sys.argv[1])
transcript = model.transcribe(sys.argv[2])
print("language:", transcript.language)
for segment in transcript.segments:
    print(f"{segment.start:6.2f} to {segment.end:6.2f} s {segment.text}")
