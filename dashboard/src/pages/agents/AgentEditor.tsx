import { useQueryClient } from "@tanstack/react-query";
import { History, Trash2 } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useBlocker, useNavigate } from "react-router";
import { Badge } from "../../components/Badge";
import { Button } from "../../components/Button";
import { ConfirmDialog } from "../../components/ConfirmDialog";
import { Notice } from "../../components/Notice";
import { PageHeader } from "../../components/PageHeader";
import { plural } from "../../lib/format";
import { useSaveKey } from "../../lib/keyboard";
import { useMayChange } from "../../lib/may-change";
import { AgentTalk } from "./AgentTalk";
import styles from "./AgentEditor.module.css";
import { DeleteAgent } from "./DeleteAgent";
import { labelOf, type JsonObject } from "./draft";
import { FormProvider } from "./form";
import { ScriptNotice } from "./ScriptNotice";
import { SectionNav } from "./SectionNav";
import { Analysis } from "./sections/Analysis";
import { Behaviour } from "./sections/Behaviour";
import { Listening } from "./sections/Listening";
import { Model } from "./sections/Model";
import { Phone } from "./sections/Phone";
import { Privacy } from "./sections/Privacy";
import { Tools } from "./sections/Tools";
import { Voice } from "./sections/Voice";
import { TemplateCards } from "./TemplateCards";
import { BLANK, type Template } from "./templates";
import { trafficWords } from "./traffic";
import { useDraft, type DraftState } from "./use-draft";
import { Versions } from "./Versions";

export const PARENT = { title: "Agents", to: "/agents" };

export function AgentEditor({ saved, template = BLANK }: { saved: JsonObject | null; template?: Template }) {
  const mayChange = useMayChange();
  const navigate = useNavigate();
  // Set before the page moves on to the agent it created: that is no way to lose changes.
  const isLeaving = useRef(false);
  const state = useDraft(saved, template, !mayChange, (id) => {
    isLeaving.current = true;
    void navigate(`/agents/${id}`, { replace: true });
  });
  useSaveKey(state.save);
  const traffic = saved && trafficWords(saved);

  return (
    <FormProvider form={state.form}>
      <div className={styles.header}>
        <PageHeader
          title={saved ? String(saved.name) : "New agent"}
          parent={PARENT}
          badge={
            <>
              {saved && <Badge>Version {String(saved.version)}</Badge>}
              {traffic && <Badge tone="warn">{traffic}</Badge>}
              <SaveState state={state} isNew={saved === null} />
            </>
          }
          actions={<Actions saved={saved} state={state} mayChange={mayChange} />}
        />
      </div>
      <Problems state={state} />
      {!saved && mayChange && (
        <div className={styles.templates}>
          <TemplateCards chosen={template.id} />
        </div>
      )}
      <div className={styles.columns}>
        <SectionNav draft={state.draft} problems={state.problems} />
        <form
          className={styles.form}
          onSubmit={(event) => {
            event.preventDefault();
            state.save();
          }}
        >
          <Behaviour />
          <Voice />
          <Listening />
          <Model />
          <Tools />
          <Phone />
          <Analysis />
          <Privacy />
        </form>
        <aside className={saved ? styles.talk : `${styles.talk} ${styles.later}`} aria-label="Talk">
          <AgentTalk saved={saved} draft={state.draft} />
        </aside>
      </div>
      <UnsavedGuard changes={mayChange ? state.changes : 0} isNew={saved === null} isLeaving={isLeaving} />
    </FormProvider>
  );
}

function SaveState({ state, isNew }: { state: DraftState; isNew: boolean }) {
  return (
    <span role="status" className={styles.state}>
      {!isNew && state.changes > 0 && (
        <span className={styles.unsaved}>{plural(state.changes, "change")} not saved</span>
      )}
      {state.savedVersion !== null && <span className={styles.saved}>Saved as version {state.savedVersion}.</span>}
    </span>
  );
}

type ActionsProps = { saved: JsonObject | null; state: DraftState; mayChange: boolean };

function Actions({ saved, state, mayChange }: ActionsProps) {
  const [open, setOpen] = useState<"versions" | "delete" | null>(null);
  const queryClient = useQueryClient();
  const id = saved ? String(saved.id) : null;
  return (
    <>
      {id && mayChange && (
        <Button variant="ghost" icon={<Trash2 />} aria-label="Delete agent" onClick={() => setOpen("delete")} />
      )}
      {id && (
        <Button variant="ghost" icon={<History />} onClick={() => setOpen("versions")}>
          Versions
        </Button>
      )}
      {mayChange && (
        <>
          {saved && state.changes > 0 && <Button onClick={state.discard}>Discard</Button>}
          <Button
            variant="primary"
            busy={state.isSaving}
            disabled={saved !== null && state.changes === 0}
            title="Ctrl+S"
            onClick={state.save}
          >
            Save
          </Button>
        </>
      )}
      {id && open === "versions" && saved && (
        <Versions
          agent={saved}
          mayRestore={mayChange}
          hasChanges={state.changes > 0}
          onRestored={() => {
            state.discard();
            void queryClient.invalidateQueries({ queryKey: ["agents"] });
            setOpen(null);
          }}
          onTrafficChanged={() => {
            // Warnings of the last save can be about versions without calls.
            state.forgetSave();
            void queryClient.invalidateQueries({ queryKey: ["agents"] });
          }}
          onClose={() => setOpen(null)}
        />
      )}
      {id && open === "delete" && <DeleteAgent id={id} name={String(saved?.name)} onClose={() => setOpen(null)} />}
    </>
  );
}

/** What keeps the draft from being saved, each with the way to its field. */
function Problems({ state }: { state: DraftState }) {
  const problems = [...state.problems];
  return (
    <div className={styles.notices}>
      <ScriptNotice />
      {state.isOutdated && (
        <Notice
          tone="warn"
          action={
            <Button size="small" onClick={state.discard}>
              Load it
            </Button>
          }
        >
          Somebody saved a newer version. Saving yours keeps both changes, field by field.
        </Notice>
      )}
      {state.failure && <Notice tone="bad">{state.failure}</Notice>}
      {problems.length > 0 && (
        <Notice tone="bad">
          <p>{problems.length === 1 ? "One field needs attention:" : `${problems.length} fields need attention:`}</p>
          <ul className={styles.problems}>
            {problems.map(([path, message]) => (
              <li key={path}>
                <strong>{labelOf(path)}</strong> – {message}
              </li>
            ))}
          </ul>
        </Notice>
      )}
      {state.warnings.map((warning) => (
        <Notice key={warning} tone="warn">
          {warning}
        </Notice>
      ))}
    </div>
  );
}

type GuardProps = { changes: number; isNew: boolean; isLeaving: { current: boolean } };

/** Asks before unsaved changes are lost, inside the page and when the tab closes. */
function UnsavedGuard({ changes, isNew, isLeaving }: GuardProps) {
  const isDirty = changes > 0;
  const blocker = useBlocker(({ currentLocation: here, nextLocation: there }) => {
    // Another template replaces what was typed as well.
    const isOther = here.pathname !== there.pathname || (isNew && here.search !== there.search);
    return isDirty && !isLeaving.current && isOther;
  });
  useEffect(() => {
    if (!isDirty) return undefined;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [isDirty]);
  return (
    <ConfirmDialog
      open={blocker.state === "blocked"}
      title={`Discard ${plural(changes, "change")}?`}
      confirm="Discard"
      onConfirm={() => blocker.proceed?.()}
      onClose={() => blocker.reset?.()}
    >
      What you changed is not saved.
    </ConfirmDialog>
  );
}
