/** Hearing a live call: asks for its socket, and plays what comes. */

import { mixed, parseStart } from "./overheard";

export type ListeningPhase = "off" | "connecting" | "on";

export interface Listening {
  phase: ListeningPhase;
  /** Why it is off although somebody wanted to listen. */
  problem: string | null;
}

export interface ListeningOptions {
  /** The address of the built worklet. */
  speaker: string;
  /** Asks for the address of the call's socket. */
  ask: () => Promise<string>;
  /** What a failed `ask` means. */
  problem: (error: unknown) => string;
}

const OFF: Listening = { phase: "off", problem: null };
/** The socket may have to come by several nodes until it reaches the one that runs the call. */
const ATTEMPTS = 8;
const PAUSE_MS = 300;
const ENDED = 1000;
const REFUSED = 1008;

export class ListeningSession {
  state: Listening = OFF;
  private context: AudioContext | null = null;
  private socket: WebSocket | null = null;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private readonly followers = new Set<() => void>();

  constructor(private readonly options: ListeningOptions) {}

  subscribe = (follower: () => void): (() => void) => {
    this.followers.add(follower);
    return () => this.followers.delete(follower);
  };

  /** Call it in the handler of a click: browsers let audio play only for a context that was made and resumed there. */
  start = async (): Promise<void> => {
    if (this.state.phase !== "off") return;
    const context = new AudioContext({ latencyHint: "interactive" });
    this.context = context;
    this.become({ phase: "connecting", problem: null });
    try {
      const [url] = await Promise.all([
        this.options.ask(),
        context.resume(),
        context.audioWorklet.addModule(this.options.speaker),
      ]);
      if (this.context === context) this.open(context, url, ATTEMPTS);
    } catch (error) {
      if (this.context === context) this.end(this.options.problem(error));
    }
  };

  stop = (): void => this.end(null);

  private open(context: AudioContext, url: string, attempts: number): void {
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    let speaker: AudioWorkletNode | null = null;
    socket.onmessage = (event: MessageEvent<ArrayBuffer | string>) => {
      if (typeof event.data !== "string") {
        const pcm = mixed(event.data);
        speaker?.port.postMessage({ type: "audio", pcm }, [pcm]);
        return;
      }
      const start = parseStart(event.data);
      if (!start) return;
      speaker = new AudioWorkletNode(context, "speaker", {
        numberOfInputs: 0,
        outputChannelCount: [1],
        processorOptions: { rate: start.sampleRate },
      });
      speaker.connect(context.destination);
      this.become({ phase: "on", problem: null });
    };
    socket.onclose = (event) => {
      if (this.socket !== socket) return;
      this.socket = null;
      if (speaker === null && event.code !== REFUSED && attempts > 1) {
        this.retry = setTimeout(() => this.open(context, url, attempts - 1), PAUSE_MS);
        return;
      }
      this.end(closeWords(event.code, speaker !== null));
    };
    this.socket = socket;
  }

  private end(problem: string | null): void {
    clearTimeout(this.retry);
    const { socket, context } = this;
    this.socket = null;
    this.context = null;
    socket?.close(ENDED);
    if (context && context.state !== "closed") void context.close();
    this.become({ phase: "off", problem });
  }

  private become(state: Listening): void {
    if (state.phase === this.state.phase && state.problem === this.state.problem) return;
    this.state = state;
    for (const follower of this.followers) follower();
  }
}

/** Why the call is heard no more; nothing where it has ended. */
function closeWords(code: number, wasHeard: boolean): string | null {
  if (code === ENDED) return null;
  if (code === REFUSED) return "You may no longer listen to this call.";
  return wasHeard ? "The connection was lost." : "The call could not be heard. It may have just ended.";
}
