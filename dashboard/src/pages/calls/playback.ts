/** Playing a recording: one audio element, its time told to whoever follows it. */
import { createContext, useContext, useEffect, useMemo, useSyncExternalStore } from "react";
import { at } from "../../lib/base";

export const RATES = [1, 1.25, 1.5, 2];

export class Playback {
  private audio = new Audio();
  private readonly listeners = new Set<() => void>();
  private frame = 0;
  /** A seek before anything is loaded. */
  private start: number | null = null;
  /** How long the recording is, once that is known: nothing is played before it is asked for. */
  private length = Infinity;

  constructor(address: string) {
    this.audio.preload = "none";
    this.audio.src = at(address);
    for (const event of ["play", "pause", "ended", "seeked", "ratechange", "volumechange"]) {
      this.audio.addEventListener(event, this.tell);
    }
    this.audio.addEventListener("loadedmetadata", () => {
      if (this.start !== null) this.audio.currentTime = this.start;
      this.start = null;
    });
  }

  get time(): number {
    return this.start ?? this.audio.currentTime;
  }
  get playing(): boolean {
    return !this.audio.paused;
  }
  get rate(): number {
    return this.audio.playbackRate;
  }
  get muted(): boolean {
    return this.audio.muted;
  }

  toggle = (): void => {
    if (this.playing) this.audio.pause();
    else void this.audio.play().catch(() => this.tell());
  };
  setLength(seconds: number): void {
    this.length = seconds;
    if (this.time > seconds) this.seek(seconds);
  }
  seek = (seconds: number): void => {
    const time = Math.min(Math.max(0, seconds), this.length);
    if (this.audio.readyState === 0) this.start = time;
    else this.audio.currentTime = time;
    this.tell();
  };
  nextRate = (): void => {
    const at = RATES.indexOf(this.rate);
    this.audio.playbackRate = RATES[(at + 1) % RATES.length] ?? 1;
  };
  mute = (): void => {
    this.audio.muted = !this.audio.muted;
  };
  stop(): void {
    this.audio.pause();
    cancelAnimationFrame(this.frame);
  }

  follow = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  private tell = (): void => {
    cancelAnimationFrame(this.frame);
    for (const listener of this.listeners) listener();
    if (this.playing) this.frame = requestAnimationFrame(this.tell);
  };
}

export const PlaybackContext = createContext<Playback | null>(null);

/** The playback of a call's recording, for as long as its page stands. */
export function usePlaybackOf(address: string | null): Playback | null {
  const playback = useMemo(() => (address === null ? null : new Playback(address)), [address]);
  useEffect(() => () => playback?.stop(), [playback]);
  return playback;
}

const nothing = () => () => undefined;

/** Something of the playback; renders again only when it changes. */
export function usePlayback<T>(read: (playback: Playback) => T, without: T): T {
  const playback = useContext(PlaybackContext);
  return useSyncExternalStore(playback?.follow ?? nothing, () => (playback ? read(playback) : without));
}
