/** Whether a model answers: asked once, with the time until its first word. */
import { type UseMutationResult, useMutation } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { Schemas } from "@/api/client";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import styles from "@/components/forms/Form.module.css";
import { currentLanguage } from "@/i18n";
import { formatNumber } from "@/i18n/format";
import { testModel } from "./modelQueries";

type Test<Model> = UseMutationResult<Schemas["TestAnswer"], unknown, Model>;

export function useModelTest(): Test<string> {
  return useMutation<Schemas["TestAnswer"], unknown, string>({ mutationFn: testModel });
}

export function TestOutcome<Model>({ test }: { test: Test<Model> }) {
  const { t } = useTranslation("connections");
  if (test.isIdle) return null;
  if (test.isError) return <ErrorNotice error={test.error} />;
  if (test.isPending)
    return (
      <div role="status">
        <Notice>{t("test.running")}</Notice>
      </div>
    );
  const { success, latency, message, message_zh } = test.data;
  return (
    <div role="status">
      <Notice tone={success ? "success" : "danger"}>
        {success ? (
          <p>{t("test.works", { milliseconds: formatNumber(latency) })}</p>
        ) : (
          <>
            <p>
              <strong>{t("test.fails")}</strong>
            </p>
            <p className={styles.sentence}>{currentLanguage() === "zh" ? message_zh : message}</p>
          </>
        )}
      </Notice>
    </div>
  );
}
