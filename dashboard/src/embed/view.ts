/** What the embedded button looks like: a pill, and above it a small card while a conversation lasts. */

import { hintWords, endWords } from "../talk/words";
import { isActive, type TalkState } from "../talk/talk-state";
import type { EmbedOptions } from "./options";
import css from "./embed.css?raw";

interface Actions {
  talk: () => void;
  microphone: () => void;
}

export class EmbedView {
  readonly host = document.createElement("div");
  private readonly card = element("section", "card");
  private readonly status = element("p", "status");
  private readonly log = element("div", "log");
  private readonly lines = element("ol", "lines");
  private readonly mute = element("button", "mute");
  private readonly talk = element("button", "talk");

  constructor(
    private readonly options: EmbedOptions,
    actions: Actions,
  ) {
    const root = this.host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    root.adoptedStyleSheets = [sheet];

    const frame = element("div", options.target === null ? "frame corner" : "frame");
    this.card.setAttribute("aria-label", `Call with ${options.agent}`);
    this.status.setAttribute("role", "status");
    this.log.setAttribute("role", "log");
    this.log.setAttribute("aria-label", "Transcript");
    this.log.tabIndex = 0;
    this.log.append(this.lines);
    this.mute.type = "button";
    this.mute.addEventListener("click", actions.microphone);
    this.talk.type = "button";
    this.talk.addEventListener("click", actions.talk);
    const buttons = element("div", "buttons");
    buttons.append(this.mute, this.talk);
    this.card.append(this.status, this.log);
    frame.append(this.card, buttons);
    root.append(frame);
  }

  draw(state: TalkState, refusal: string | null, mayTalk: boolean): void {
    const { agent, label } = this.options;
    const isBusy = isActive(state);
    this.card.hidden = state.phase === "idle";
    this.status.textContent =
      refusal ?? (state.phase === "ended" ? endWords(state.endReason) : hintWords(state, agent, false, 5));
    this.log.hidden = state.lines.length === 0;
    this.drawLines(state);
    this.mute.hidden = state.phase !== "live";
    const works = state.microphone === "works";
    this.mute.textContent = !works ? "No microphone" : state.muted ? "Unmute" : "Mute";
    this.mute.disabled = state.microphone === "lost";
    this.mute.setAttribute("aria-pressed", String(works && state.muted));
    this.talk.className = isBusy ? "talk end" : "talk";
    this.talk.textContent = isBusy ? (state.phase === "live" ? "End call" : "Cancel") : label;
    this.talk.hidden = !mayTalk;
  }

  private drawLines(state: TalkState): void {
    state.lines.forEach((line, index) => {
      const item = this.lines.children[index] ?? this.lines.appendChild(lineElement(line.role));
      const [who, words, unheard] = item.children;
      if (who) who.textContent = line.role === "agent" ? this.options.agent : "You";
      if (words) words.textContent = line.text;
      if (unheard) unheard.textContent = line.unheard;
    });
    while (this.lines.children.length > state.lines.length) this.lines.lastElementChild?.remove();
    this.log.scrollTop = this.log.scrollHeight;
  }
}

function lineElement(role: "agent" | "caller"): HTMLElement {
  const item = element("li", role);
  item.append(element("strong"), element("span"), element("span", "unheard"));
  return item;
}

function element<Name extends keyof HTMLElementTagNameMap>(name: Name, className = ""): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  made.className = className;
  return made;
}
