/** A new skill: from a template, an empty page, or what was written here before. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Save, Undo2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { notify } from "@/components/feedback/toasts";
import { Page } from "@/components/layout/Page";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { readDraft, usePersistentDraft, writeDraft } from "../editor/drafts";
import { LeaveGuard } from "../editor/LeaveGuard";
import { Workbench } from "../editor/Workbench";
import { keepChanged, loaded } from "../skillQueries";
import { keepRequests } from "../trials/requests";
import { type Beginning, TemplateChoice } from "./TemplateChoice";

const route = getRouteApi("/shell/skills/new");
const DRAFT = "new";

export function NewSkill() {
  const { t } = useTranslation(["skills", "common"]);
  const [beginning, setBeginning] = useState<Beginning | null>(null);
  const [text, setText] = useState<string | null>(() => readDraft(DRAFT)?.text ?? null);
  usePersistentDraft(DRAFT, text, 0);
  function choose(chosen: Beginning) {
    setBeginning(chosen);
    setText(chosen.text);
  }
  return (
    <Page wide={text !== null} title={t("new.title")} lead={t(text === null ? "new.lead" : "new.lead_editor")}>
      {text === null ? (
        <TemplateChoice onChoose={choose} />
      ) : (
        <FirstVersion text={text} onText={setText} beginning={beginning} />
      )}
    </Page>
  );
}

interface Props {
  text: string;
  onText: (text: string | null) => void;
  beginning: Beginning | null;
}

function FirstVersion({ text, onText, beginning }: Props) {
  const { t } = useTranslation(["skills", "common"]);
  const { side } = route.useSearch();
  const creating = useCreating(beginning, () => onText(null));
  const [asking, setAsking] = useState(false);
  const isDirty = text !== beginning?.text;
  return (
    <>
      <LeaveGuard isDirty={isDirty && !creating.isSuccess} within="/skills/new" draft={DRAFT} />
      {creating.error && <ErrorNotice error={creating.error} />}
      <Workbench
        text={text}
        onText={onText}
        onSave={(content) => creating.isPending || creating.mutate(content)}
        skillId={null}
        readOnly={false}
        from="/skills/new"
        side={side}
        toolbar={(save) => (
          <>
            <Button
              variant="primary"
              icon={Save}
              busy={creating.isPending}
              onClick={save}
              title={t("editor.save_keys")}
            >
              {t("new.create")}
            </Button>
            <Button icon={Undo2} onClick={() => (isDirty ? setAsking(true) : onText(null))}>
              {t("new.again")}
            </Button>
          </>
        )}
      />
      <ConfirmDialog
        open={asking}
        onClose={() => setAsking(false)}
        title={t("new.discard_title")}
        description={t("new.discard_what")}
        action={t("new.discard")}
        onConfirm={async () => onText(null)}
      />
    </>
  );
}

/** Saves the first version and opens it; `onMade` comes before. */
function useCreating(beginning: Beginning | null, onMade: () => void) {
  const { t } = useTranslation(["skills", "common"]);
  const navigate = useNavigate();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (content: string) => loaded(api.POST("/api/v1/skills", { body: { content, change_note: "" } })),
    onSuccess: async (made) => {
      const { id, name } = made.skill;
      writeDraft(DRAFT, null);
      if (beginning?.requests.length) keepRequests(id, beginning.requests);
      await keepChanged(queries, made);
      notify(t("new.created", { name }));
      await navigate({ to: "/skills/$skillId", params: { skillId: id }, ignoreBlocker: true });
      writeDraft(DRAFT, null);
      onMade();
    },
  });
}
