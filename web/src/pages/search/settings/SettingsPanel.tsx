/** The settings of a search test: one set, or two side by side; they can be measured, and kept as the knowledge base's. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Gauge, RotateCcw, Save } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { Button, LinkButton } from "@/components/Button";
import { notify } from "@/components/feedback/toasts";
import { ConfirmDialog } from "@/components/overlays/Dialog";
import { Disclosure } from "@/components/overlays/Disclosure";
import { nonEmpty, type RetrievalOptions } from "../searchParams";
import type { SearchAnswer } from "../searchQueries";
import { OptionsForm } from "./OptionsForm";
import styles from "./SettingsPanel.module.css";

export function SettingsPanel({
  kbId,
  options,
  compared,
  answers,
  canWrite,
  onChange,
}: {
  kbId: string;
  options: RetrievalOptions | undefined;
  compared: RetrievalOptions | undefined;
  answers: readonly [SearchAnswer | undefined, SearchAnswer | undefined];
  canWrite: boolean;
  onChange: (part: { options?: RetrievalOptions | undefined; compared?: RetrievalOptions | undefined }) => void;
}) {
  const { t } = useTranslation("search");
  const two = compared !== undefined;
  const [open, setOpen] = useState(two);
  // Two settings are there to be changed.
  useEffect(() => {
    if (two) setOpen(true);
  }, [two]);
  return (
    <Disclosure
      title={t("option.title")}
      count={Object.keys(options ?? {}).length + Object.keys(compared ?? {}).length}
      open={open}
      onToggle={setOpen}
    >
      <div className={two ? styles.two : styles.one}>
        <SettingsColumn
          kbId={kbId}
          title={two ? t("compare.first") : null}
          options={options ?? {}}
          answer={answers[0]}
          canWrite={canWrite}
          onChange={(chosen) => onChange({ options: nonEmpty(chosen) })}
        />
        {two && (
          <SettingsColumn
            kbId={kbId}
            title={t("compare.second")}
            options={compared}
            answer={answers[1]}
            canWrite={canWrite}
            onChange={(chosen) => onChange({ compared: chosen })}
          />
        )}
      </div>
    </Disclosure>
  );
}

function SettingsColumn({
  kbId,
  title,
  options,
  answer,
  canWrite,
  onChange,
}: {
  kbId: string;
  title: string | null;
  options: RetrievalOptions;
  answer: SearchAnswer | undefined;
  canWrite: boolean;
  onChange: (options: RetrievalOptions) => void;
}) {
  const { t } = useTranslation("search");
  const chosen = Object.keys(options).length > 0;
  return (
    <div className={styles.column}>
      {title && <h3>{title}</h3>}
      <OptionsForm
        options={options}
        effective={answer && { ...answer.request, dense_weight: answer.dense_weight }}
        onChange={onChange}
      />
      {chosen && (
        <div className={styles.actions}>
          <Button size="s" variant="ghost" icon={RotateCcw} onClick={() => onChange({})}>
            {t("option.reset")}
          </Button>
          {canWrite && (
            <>
              <LinkButton
                size="s"
                icon={Gauge}
                to="/knowledge-bases/$kbId/questions"
                params={{ kbId }}
                search={{ options }}
              >
                {t("option.measure")}
              </LinkButton>
              <KeepButton kbId={kbId} options={options} />
            </>
          )}
        </div>
      )}
    </div>
  );
}

function KeepButton({ kbId, options }: { kbId: string; options: RetrievalOptions }) {
  const { t } = useTranslation("search");
  const queries = useQueryClient();
  const [asks, setAsks] = useState(false);
  const keep = useMutation({
    mutationFn: () =>
      call(
        api.PUT("/api/v1/knowledge-bases/{kb_id}", { params: { path: { kb_id: kbId } }, body: { retrieval: options } }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["knowledge-base", kbId] });
      await queries.invalidateQueries({ queryKey: ["search", kbId] });
      notify(t("option.kept"));
    },
  });
  return (
    <>
      <Button size="s" icon={Save} onClick={() => setAsks(true)}>
        {t("option.keep")}
      </Button>
      <ConfirmDialog
        open={asks}
        onClose={() => setAsks(false)}
        title={t("option.keep_title")}
        description={t("option.keep_hint")}
        action={t("option.keep")}
        onConfirm={() => keep.mutateAsync()}
      />
    </>
  );
}
