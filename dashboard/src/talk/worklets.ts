/** The addresses of the built worklets, in a module of their own: the pages share it under a name that is none of theirs. */

import microphone from "./microphone.worklet.ts?worker&url";
import speaker from "./speaker.worklet.ts?worker&url";

export const WORKLETS = { microphone, speaker };
