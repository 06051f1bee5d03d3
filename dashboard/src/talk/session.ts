/** Carries out what `talk-state` decides: microphone, loudspeaker, socket, WebRTC session, timer. */

import { microphoneRefusal, openAudio, type TalkAudio, type Worklets } from "./audio";
import { parseMessage } from "./protocol";
import { PLAYOUT_MS, RtcSession } from "./rtc";
import {
  IDLE,
  isActive,
  transition,
  type Effect,
  type Input,
  type Refusal,
  type TalkCall,
  type TalkState,
} from "./talk-state";

export interface TalkOptions {
  worklets: Worklets;
  /** Makes the call, and returns the address of its socket. */
  placeCall: () => Promise<TalkCall>;
  /** What a failed `placeCall` means. */
  refusal: (error: unknown) => Refusal;
  /** Ends a call that nobody will talk to. */
  hangUp: (id: string) => void;
}

/** How loud both sides are at the moment, from 0 to 1. A meter reads it for each picture it draws. */
export interface Levels {
  microphone: number;
  speaker: number;
}

const TICK_MS = 250;
/** Audio that could not be sent, in bytes: one and a half seconds mean that the network is gone. */
const STUCK_BYTES = 48_000;
/** Any code but 1000, which would end the call. */
const LOST = 4000;

export class TalkSession {
  state: TalkState = IDLE;
  readonly levels: Levels = { microphone: 0, speaker: 0 };
  /** The microphone to use; the browser's choice where it is not set. */
  deviceId: string | undefined;

  private audio: TalkAudio | null = null;
  private socket: WebSocket | null = null;
  private rtc: RtcSession | null = null;
  private timer: ReturnType<typeof setInterval> | undefined;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private readonly listeners = new Set<() => void>();

  constructor(private options: TalkOptions) {}

  /** Replaces the options; what is under way keeps its call. */
  configure(options: TalkOptions): void {
    this.options = options;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  dispatch = (input: Input): void => {
    const { state, effects } = transition(this.state, input, Date.now());
    const isChanged = state !== this.state;
    this.state = state;
    for (const effect of effects) this.carryOut(effect);
    this.rtc?.speak(state.transport === "udp" && !state.muted);
    this.keepTime();
    if (isChanged) for (const listener of this.listeners) listener();
  };

  /** The button with the microphone: mutes it or not, or asks for another one when it is gone. */
  pressMicrophone(): void {
    const { microphone, muted } = this.state;
    this.dispatch(microphone === "works" ? { type: "mute", muted: !muted } : { type: "find_microphone" });
  }

  /** Ends whatever is under way, when the panel goes away. */
  dispose(): void {
    this.dispatch({ type: "end" });
    this.release();
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private carryOut(effect: Effect): void {
    switch (effect.type) {
      case "open_microphone":
        void this.openMicrophone();
        break;
      case "replace_microphone":
        void this.replaceMicrophone();
        break;
      case "place_call":
        void this.placeCall();
        break;
      case "open_socket":
        clearTimeout(this.retry);
        this.retry = setTimeout(() => this.openSocket(effect.url), effect.delayMs);
        break;
      case "send":
        if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(effect.message));
        break;
      case "queue_mark":
        this.queueMark(effect.name);
        break;
      case "clear_audio":
        this.audio?.play({ type: "clear" });
        break;
      case "open_rtc":
        this.openRtc();
        break;
      case "answer_rtc":
        this.rtc?.answered(effect.sdp, () => this.dispatch({ type: "rtc_failed" }));
        break;
      case "close_rtc":
        this.closeRtc();
        break;
      case "release":
        this.release();
        break;
      case "hang_up_call":
        this.options.hangUp(effect.id);
        break;
    }
  }

  private async openMicrophone(): Promise<void> {
    try {
      const audio = await openAudio(this.options.worklets, this.deviceId, {
        frame: (frame) => this.microphoneFrame(frame.pcm, frame.loudness),
        speaker: (output) => {
          if (output.type === "loudness") this.levels.speaker = output.loudness;
          else this.dispatch({ type: "mark_played", name: output.name });
        },
        lost: () => this.dispatch({ type: "microphone_lost" }),
        devicesChanged: () => this.dispatch({ type: "find_microphone" }),
      });
      // A refusal or a second attempt may have come while the browser asked.
      this.audio?.close();
      this.audio = audio;
      this.dispatch({ type: "microphone_opened" });
    } catch (error) {
      this.dispatch({ type: "microphone_failed", refusal: microphoneRefusal(error) });
    }
  }

  private async replaceMicrophone(): Promise<void> {
    const { audio } = this;
    if (!audio) return;
    try {
      await audio.replaceMicrophone();
      if (this.audio !== audio) return;
      this.rtc?.replaceMicrophone(audio.microphone());
      this.dispatch({ type: "microphone_replaced" });
    } catch {
      if (this.audio === audio) this.dispatch({ type: "microphone_missing" });
    }
  }

  private microphoneFrame(pcm: ArrayBuffer, loudness: number): void {
    this.levels.microphone = loudness;
    this.dispatch({ type: "microphone_frame" });
    if (this.state.transport === "udp" || this.socket?.readyState !== WebSocket.OPEN) return;
    if (this.socket.bufferedAmount > STUCK_BYTES) {
      this.loseSocket(this.socket);
      return;
    }
    // Silence instead of nothing: the service counts time by the frames.
    this.socket.send(this.state.muted ? new ArrayBuffer(pcm.byteLength) : pcm);
  }

  /** What is before a mark was played when the queue has come to it; over UDP the service knows that, but for the browser's buffer. */
  private queueMark(name: string): void {
    if (this.state.transport === "udp") setTimeout(() => this.dispatch({ type: "mark_played", name }), PLAYOUT_MS);
    else this.audio?.play({ type: "mark", name });
  }

  private openRtc(): void {
    if (!this.audio) return;
    this.closeRtc();
    this.rtc = RtcSession.open(this.audio, {
      offer: (sdp) => this.dispatch({ type: "rtc_offered", sdp }),
      failed: () => this.dispatch({ type: "rtc_failed" }),
    });
  }

  private closeRtc(): void {
    this.rtc?.close();
    this.rtc = null;
  }

  private async placeCall(): Promise<void> {
    try {
      this.dispatch({ type: "call_placed", call: await this.options.placeCall() });
    } catch (error) {
      this.dispatch({ type: "call_refused", refusal: this.options.refusal(error) });
    }
  }

  private openSocket(url: string): void {
    if (!isActive(this.state)) return;
    this.closeSocket();
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => this.dispatch({ type: "socket_opened" });
    socket.onclose = (event) => {
      if (this.socket !== socket) return;
      this.socket = null;
      this.dispatch({ type: "socket_closed", code: event.code });
    };
    socket.onmessage = (event: MessageEvent<ArrayBuffer | string>) => {
      if (typeof event.data !== "string") {
        this.audio?.play({ type: "audio", pcm: event.data });
        return;
      }
      const message = parseMessage(event.data);
      if (message) this.dispatch({ type: "message", message });
    };
    this.socket = socket;
  }

  /** A connection that died without a word is closed here, rather than when the browser notices. */
  private loseSocket(socket: WebSocket): void {
    this.socket = null;
    socket.close(LOST);
    this.dispatch({ type: "socket_closed", code: LOST });
  }

  private closeSocket(): void {
    clearTimeout(this.retry);
    const socket = this.socket;
    this.socket = null;
    socket?.close(1000);
  }

  private release(): void {
    this.closeRtc();
    this.closeSocket();
    this.audio?.close();
    this.audio = null;
    this.levels.microphone = 0;
    this.levels.speaker = 0;
  }

  /** The clock runs only while a time-out can fall due. */
  private keepTime(): void {
    if (isActive(this.state)) {
      this.timer ??= setInterval(() => this.dispatch({ type: "tick" }), TICK_MS);
    } else {
      clearInterval(this.timer);
      this.timer = undefined;
    }
  }
}
