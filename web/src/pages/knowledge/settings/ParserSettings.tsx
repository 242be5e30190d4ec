/** What reads a knowledge base's documents; nothing where the server has the built-in parsers alone. */
import { useTranslation } from "react-i18next";
import { notify, useErrorToast } from "@/components/feedback/toasts";
import { Card, Section } from "@/components/layout/Page";
import styles from "../Form.module.css";
import { useChangeBase } from "../knowledgeActions";
import { BUILT_IN, type ParserChoice } from "../parsers/choiceKeys";
import { ParserField } from "../parsers/ParserField";
import { useParserChoices } from "../parsers/parserChoices";
import type { KnowledgeBase } from "../queries";

export function ParserSettings({ base }: { base: KnowledgeBase }) {
  const { t } = useTranslation(["knowledge", "common"]);
  const change = useChangeBase(base.id);
  const onError = useErrorToast();
  const choices = useParserChoices();
  if (choices.length < 2 && base.parser === BUILT_IN) return null;
  const choose = (choice: ParserChoice | null) => {
    if (choice) change.mutate({ ...choice }, { onError, onSuccess: () => notify(t("common:state.saved")) });
  };
  return (
    <Section title={t("settings.parser")}>
      <Card className={styles.form}>
        <ParserField
          value={{ parser: base.parser, strategy: base.strategy }}
          onChange={choose}
          hint={t("parser.base_hint")}
          disabled={change.isPending}
        />
      </Card>
    </Section>
  );
}
