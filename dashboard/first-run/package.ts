/** `switchhook dev` of an installed package, started as a new user does: in an empty folder, with a model's key in the environment. */
import { spawn, type ChildProcess } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class Dev {
  private printed = "";

  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {
    for (const output of [child.stdout, child.stderr]) {
      output?.setEncoding("utf8").on("data", (text: string) => (this.printed += text));
    }
  }

  /** Starts the command of SWITCHHOOK_FIRST_RUN, a JSON list. Models that SWITCHHOOK_FIRST_RUN_MODELS names are not downloaded. */
  static start(variables: Record<string, string>): Dev {
    const [command, ...before] = JSON.parse(process.env.SWITCHHOOK_FIRST_RUN ?? "[]") as string[];
    if (!command) throw new Error("SWITCHHOOK_FIRST_RUN does not name the command: start ci/packaging.sh");
    const folder = mkdtempSync(join(tmpdir(), "switchhook-first-run-"));
    const models = process.env.SWITCHHOOK_FIRST_RUN_MODELS;
    if (models && existsSync(models)) {
      mkdirSync(join(folder, "switchhook-data"), { mode: 0o700 });
      cpSync(models, join(folder, "switchhook-data/models"), { recursive: true });
    }
    // Nothing of this machine's settings or keys.
    const others = /^SWITCHHOOK_|_API_KEY$|^OPENAI_/;
    const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !others.test(name)));
    const env = { ...inherited, ...variables, SWITCHHOOK_SHUTDOWN_DELAY: "0s" };
    const args = [...before, "dev", "--no-open", "--listen", "127.0.0.1:0"];
    // A process group of its own, because the command may be a launcher.
    const child = spawn(command, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    return new Dev(child, folder);
  }

  /** Waits for a text of its terminal. */
  async prints(wanted: RegExp): Promise<RegExpExecArray> {
    return new Promise((found, failed) => {
      const look = () => {
        const match = wanted.exec(this.printed);
        if (match) found(match);
      };
      this.child.stdout?.on("data", look);
      this.child.on("error", failed);
      this.child.on("exit", (code) => failed(new Error(`switchhook dev ended with ${code}:\n${this.printed}`)));
      look();
    });
  }

  /** Waits until the speech models are there, and returns when that was if they were downloaded. */
  async downloads(): Promise<number | undefined> {
    await this.prints(/ listens on http/);
    return /^Downloading /m.test(this.printed) ? Date.now() : undefined;
  }

  async stop(): Promise<void> {
    const { child } = this;
    if (child.pid && child.exitCode === null && child.signalCode === null) {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      // Twice: calls end now.
      for (let signals = 0; signals < 2; signals += 1) process.kill(-child.pid, "SIGTERM");
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
