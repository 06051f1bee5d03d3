/** A WebRTC session beside the socket of a call: the acting edge of what `talk-state` decides about it. */

import type { TalkAudio } from "./audio";

export interface RtcHandlers {
  /** To be sent to the service. */
  offer: (sdp: string) => void;
  /** Audio goes over the socket, or goes there again. */
  failed: () => void;
}

/** How long the browser keeps audio before it plays it, about: what came over UDP is heard so much later. */
export const PLAYOUT_MS = 60;

export class RtcSession {
  private readonly connection: RTCPeerConnection;
  /** A copy of the microphone: both transports have one of their own, and this one is silent until it is used. */
  private microphone: MediaStreamTrack;
  private readonly sender: RTCRtpSender;
  private detach: (() => void) | null = null;

  private constructor(audio: TalkAudio, handlers: RtcHandlers) {
    // The service has a public address, so that neither STUN nor TURN is needed to reach it.
    this.connection = new RTCPeerConnection();
    this.microphone = audio.microphone().clone();
    this.microphone.enabled = false;
    this.sender = this.connection.addTrack(this.microphone, new MediaStream([this.microphone]));
    this.connection.ontrack = ({ track }) => {
      this.detach?.();
      this.detach = audio.attach(new MediaStream([track]));
    };
    this.connection.onconnectionstatechange = () => {
      if (["failed", "disconnected", "closed"].includes(this.connection.connectionState)) handlers.failed();
    };
  }

  /** Begins one; `null` where the browser has no WebRTC. */
  static open(audio: TalkAudio, handlers: RtcHandlers): RtcSession | null {
    if (typeof RTCPeerConnection === "undefined") return null;
    const session = new RtcSession(audio, handlers);
    const offering = async (): Promise<void> => {
      await session.connection.setLocalDescription();
      const sdp = session.connection.localDescription?.sdp;
      if (sdp) handlers.offer(sdp);
    };
    offering().catch(handlers.failed);
    return session;
  }

  answered(sdp: string, failed: () => void): void {
    this.connection.setRemoteDescription({ type: "answer", sdp }).catch(failed);
  }

  /** Whether the person is heard here. */
  speak(isHeard: boolean): void {
    this.microphone.enabled = isHeard;
  }

  /** Sends another microphone from now on. */
  replaceMicrophone(track: MediaStreamTrack): void {
    const next = track.clone();
    next.enabled = this.microphone.enabled;
    this.microphone.stop();
    this.microphone = next;
    this.sender.replaceTrack(next).catch(() => undefined);
  }

  close(): void {
    this.connection.ontrack = null;
    this.connection.onconnectionstatechange = null;
    this.connection.close();
    this.microphone.stop();
    this.detach?.();
    this.detach = null;
  }
}
