/** What the Talk panel says. Pure. */

import type { components } from "../api/schema";
import type { Refusal, TalkState } from "./talk-state";

type Schemas = components["schemas"];

/** Why a conversation did not come about, and what to do. */
export function refusalWords(refusal: Refusal): string {
  switch (refusal.kind) {
    case "denied":
      return "The microphone is blocked. Allow it in the address bar, then press Talk.";
    case "no_device":
      return "No microphone was found. Connect one, then press Talk.";
    case "device_busy":
      return "Another program uses the microphone. Close it, then press Talk.";
    case "insecure":
      return "Browsers give the microphone only to pages that come over https, or from this machine.";
    case "timeout":
      return "The call did not connect. Check the network, then press Talk.";
    case "expired":
      return "The call’s address has expired or was used before. Press Talk for a new one.";
    case "service":
      return refusal.detail;
  }
}

const END: Record<string, string> = {
  agent_hangup: "The agent hung up.",
  caller_hangup: "You ended the call.",
  api_hangup: "The call was ended through the API.",
  canceled: "The call was canceled.",
  transferred: "The call was transferred.",
  silence: "Nobody spoke, so the agent hung up.",
  max_duration: "The call reached its longest duration.",
  drained: "The service stopped.",
  voicemail: "The agent reached a voicemail.",
  lost: "The connection was lost.",
  provider_timeout: "A model did not answer in time.",
  config_error: "The agent’s settings do not work: a provider refuses them.",
  pipeline_error: "A provider failed.",
  no_answer: "The call was not connected in time.",
  no_media: "No audio arrived.",
} satisfies Record<Schemas["CallEndReason"] | "lost", string> & Partial<Record<Schemas["CallFailure"], string>>;

/** Why a conversation ended. */
export function endWords(reason: string | null): string {
  return END[reason ?? ""] ?? "The call has ended.";
}

/** The sentence below the meter. */
export function hintWords(state: TalkState, agentName: string, isSpeaking: boolean, remainingSeconds: number): string {
  switch (state.phase) {
    case "asking":
      return "Allow the microphone.";
    case "connecting":
      return `Connecting to ${agentName}`;
    case "reconnecting":
      return `Connection lost. ${remainingSeconds} s left`;
    case "live":
      if (state.microphone === "lost") return "The microphone is gone. Looking for another one.";
      if (state.microphone === "missing")
        return "No microphone: the agent does not hear you. Connect one, or try again.";
      if (state.muted) return isSpeaking ? "You are muted. The agent does not hear you." : "You are muted.";
      if (state.agent === "speaking") return `${agentName} is speaking. Talk over it to interrupt.`;
      if (state.agent === "thinking") return `${agentName} is thinking.`;
      return `${agentName} is listening.`;
    default:
      return "";
  }
}
