/** Microphone and loudspeaker of a conversation. The acting edge of the worklets. */

import type { Refusal } from "./talk-state";

export type SpeakerInput = { type: "audio"; pcm: ArrayBuffer } | { type: "mark"; name: string } | { type: "clear" };

export type SpeakerOutput = { type: "mark"; name: string } | { type: "loudness"; loudness: number };

export interface MicrophoneOutput {
  /** 20 ms of 16 kHz PCM. */
  pcm: ArrayBuffer;
  loudness: number;
}

/** The addresses of the built worklets. */
export interface Worklets {
  microphone: string;
  speaker: string;
}

export interface AudioHandlers {
  frame: (frame: MicrophoneOutput) => void;
  speaker: (output: SpeakerOutput) => void;
  /** The microphone was unplugged or taken away. */
  lost: () => void;
  /** A device was plugged in or out. */
  devicesChanged: () => void;
}

export interface TalkAudio {
  /** The microphone in use. */
  microphone: () => MediaStreamTrack;
  /** Takes the browser's choice of microphone in place of one that is gone. Rejects like `openAudio`. */
  replaceMicrophone: () => Promise<void>;
  play: (input: SpeakerInput) => void;
  /** Plays a stream too, as long as the returned function is not called. */
  attach: (stream: MediaStream) => () => void;
  close: () => void;
}

/** Whether this page may use a microphone at all: over https, or on this machine. */
function isAllowed(): boolean {
  return window.isSecureContext && navigator.mediaDevices !== undefined;
}

/**
 * Asks for the microphone and starts both directions. Call it in the handler of a click: browsers let audio play only
 * for a context that was made and resumed there.
 */
export async function openAudio(
  worklets: Worklets,
  deviceId: string | undefined,
  handlers: AudioHandlers,
): Promise<TalkAudio> {
  if (!isAllowed()) throw new DOMException("No microphone without https.", "SecurityError");
  const context = new AudioContext({ latencyHint: "interactive" });
  const isRunning = context.resume();
  let stream: MediaStream | undefined;
  try {
    stream = await askForMicrophone(deviceId);
    await Promise.all([
      isRunning,
      context.audioWorklet.addModule(worklets.microphone),
      context.audioWorklet.addModule(worklets.speaker),
    ]);
    return connect(context, stream, handlers);
  } catch (error) {
    stopTracks(stream);
    void context.close();
    throw error;
  }
}

/** A stream with one microphone. */
async function askForMicrophone(deviceId?: string): Promise<MediaStream> {
  const stream = await navigator.mediaDevices.getUserMedia({
    audio: {
      deviceId: deviceId ? { exact: deviceId } : undefined,
      channelCount: 1,
      echoCancellation: true,
      noiseSuppression: true,
      autoGainControl: true,
    },
  });
  if (stream.getAudioTracks().length === 0) throw new DOMException("The stream has no microphone.", "NotFoundError");
  return stream;
}

function connect(context: AudioContext, first: MediaStream, handlers: AudioHandlers): TalkAudio {
  const worklet = new AudioWorkletNode(context, "microphone", { numberOfOutputs: 0 });
  worklet.port.onmessage = (event: MessageEvent<MicrophoneOutput>) => handlers.frame(event.data);

  const speaker = new AudioWorkletNode(context, "speaker", { numberOfInputs: 1, outputChannelCount: [1] });
  speaker.port.onmessage = (event: MessageEvent<SpeakerOutput>) => handlers.speaker(event.data);
  speaker.connect(context.destination);

  let microphone = connectMicrophone(context, first, worklet, handlers.lost);
  navigator.mediaDevices.addEventListener("devicechange", handlers.devicesChanged);
  let isOpen = true;

  return {
    microphone: () => microphone.track,
    replaceMicrophone: async () => {
      const stream = await askForMicrophone();
      if (!isOpen) return stopTracks(stream);
      microphone.stop();
      microphone = connectMicrophone(context, stream, worklet, handlers.lost);
    },
    attach: (remote) => attach(context, remote, speaker),
    play: (input) => speaker.port.postMessage(input, input.type === "audio" ? [input.pcm] : []),
    close: () => {
      isOpen = false;
      navigator.mediaDevices.removeEventListener("devicechange", handlers.devicesChanged);
      worklet.port.onmessage = null;
      speaker.port.onmessage = null;
      microphone.stop();
      if (context.state !== "closed") void context.close();
    },
  };
}

/** Gives the microphone of a stream to the worklet until it is stopped. */
function connectMicrophone(
  context: AudioContext,
  stream: MediaStream,
  worklet: AudioNode,
  lost: () => void,
): { track: MediaStreamTrack; stop: () => void } {
  const [track] = stream.getAudioTracks() as [MediaStreamTrack];
  const source = context.createMediaStreamSource(stream);
  source.connect(worklet);
  track.onended = lost;
  return {
    track,
    stop: () => {
      source.disconnect();
      stopTracks(stream);
    },
  };
}

/** Gives a stream of the network to the speaker's node, which plays it and knows how loud it is. */
function attach(context: AudioContext, remote: MediaStream, speaker: AudioNode): () => void {
  // Chromium decodes such a stream only for an element.
  const element = new Audio();
  element.muted = true;
  element.srcObject = remote;
  element.play().catch(() => undefined);
  const source = context.createMediaStreamSource(remote);
  source.connect(speaker);
  return () => {
    source.disconnect();
    element.srcObject = null;
  };
}

function stopTracks(stream: MediaStream | undefined): void {
  for (const track of stream?.getTracks() ?? []) {
    track.onended = null;
    track.stop();
  }
}

/** What the browser's refusal means. */
export function microphoneRefusal(error: unknown): Refusal {
  const name = error instanceof DOMException ? error.name : "";
  switch (name) {
    case "NotFoundError":
    case "OverconstrainedError":
      return { kind: "no_device" };
    case "NotReadableError":
    case "AbortError":
      return { kind: "device_busy" };
    case "SecurityError":
      return { kind: "insecure" };
    default:
      return { kind: "denied" };
  }
}

/** The microphones, named once the browser was allowed to use one. */
export async function microphones(): Promise<MediaDeviceInfo[]> {
  if (!isAllowed()) return [];
  const devices = await navigator.mediaDevices.enumerateDevices();
  return devices.filter((device) => device.kind === "audioinput" && device.label !== "");
}
