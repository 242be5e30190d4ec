/** How searches of this knowledge base rank where a request does not say. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "@/components/Button";
import { notify } from "@/components/feedback/toasts";
import { FormError } from "@/components/forms/FormError";
import { Card, Section } from "@/components/layout/Page";
import type { RetrievalOptions } from "@/pages/search/searchParams";
import { OptionsForm } from "@/pages/search/settings/OptionsForm";
import styles from "../Form.module.css";
import { useChangeBase } from "../knowledgeActions";
import type { KnowledgeBase } from "../queries";

function chosenOf(retrieval: KnowledgeBase["retrieval"]): RetrievalOptions {
  return Object.fromEntries(Object.entries(retrieval).filter(([, value]) => value !== null)) as RetrievalOptions;
}

/** With a null for each choice that was taken back: the server keeps what is left out. */
function changesOf(before: KnowledgeBase["retrieval"], options: RetrievalOptions): KnowledgeBase["retrieval"] {
  const resets = Object.keys(chosenOf(before)).map((name) => [name, null]);
  return { ...Object.fromEntries(resets), ...options };
}

export function RetrievalSettings({ base }: { base: KnowledgeBase }) {
  const { t } = useTranslation(["knowledge", "common"]);
  const before = chosenOf(base.retrieval);
  const [options, setOptions] = useState<RetrievalOptions>(before);
  const change = useChangeBase(base.id);
  const isChanged = JSON.stringify(Object.entries(options).sort()) !== JSON.stringify(Object.entries(before).sort());
  function save() {
    change.mutate(
      { retrieval: changesOf(base.retrieval, options) },
      { onSuccess: () => notify(t("common:state.saved")) },
    );
  }
  return (
    <Section title={t("settings.retrieval")}>
      <Card className={styles.form}>
        <p className={styles.small}>{t("settings.retrieval_hint")}</p>
        <OptionsForm options={options} onChange={setOptions} />
        {change.isError && <FormError error={change.error} />}
        <div className={styles.actions}>
          <Button variant="primary" busy={change.isPending} disabled={!isChanged} onClick={save}>
            {t("common:action.save")}
          </Button>
          {Object.keys(options).length > 0 && <Button onClick={() => setOptions({})}>{t("settings.defaults")}</Button>}
        </div>
      </Card>
    </Section>
  );
}
