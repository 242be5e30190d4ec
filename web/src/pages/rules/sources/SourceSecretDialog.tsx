/** A dialog that makes an event source, or another secret of one, and shows the secret this once. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { CopyField } from "@/components/forms/CopyField";
import { TextField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { Dialog, DialogActions } from "@/components/overlays/Dialog";
import { eventSourcesQuery } from "../ruleQueries";
import { addressOf, type EventSource } from "./sourceAddress";

/** As long as a name may be. */
const LONGEST_NAME = 100;

/** Without `source` it makes one. */
export function SourceSecretDialog({ source, onClose }: { source?: EventSource; onClose: () => void }) {
  const { t } = useTranslation(["rules", "common"]);
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const make = useMutation({
    mutationFn: () =>
      source
        ? call(api.POST("/api/v1/rules/sources/{source_id}/rotate", { params: { path: { source_id: source.id } } }))
        : call(api.POST("/api/v1/rules/sources", { body: { name: name.trim() } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: eventSourcesQuery.queryKey }),
    // The secret is for this dialog alone.
    gcTime: 0,
  });
  if (make.data) return <Secret source={make.data} onClose={onClose} />;
  const action = t(source ? "source.rotate" : "common:action.create");
  return (
    <Dialog
      open
      onClose={onClose}
      title={source ? t("source.rotate_title", { name: source.name }) : t("source.new")}
      description={t(source ? "source.rotate_text" : "source.new_text")}
    >
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate();
        }}
      >
        {!source && (
          <TextField
            label={t("source.name")}
            hint={t("source.name_hint")}
            value={name}
            maxLength={LONGEST_NAME}
            onChange={({ target }) => setName(target.value)}
            required
          />
        )}
        {make.isError && <ErrorNotice error={make.error} />}
        <DialogActions>
          <Button onClick={onClose}>{t("common:action.cancel")}</Button>
          <Button
            type="submit"
            variant={source ? "danger" : "primary"}
            busy={make.isPending}
            disabled={!source && !name.trim()}
          >
            {action}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function Secret({ source, onClose }: { source: Schemas["NewEventSource"]; onClose: () => void }) {
  const { t } = useTranslation("rules");
  return (
    <Dialog open onClose={onClose} title={t("source.secret_title", { name: source.name })}>
      <Notice tone="warning">
        <p>{t("source.secret_text")}</p>
      </Notice>
      <CopyField label={t("source.secret")} value={source.secret} />
      <CopyField label={t("source.address")} value={addressOf(source)} />
      <DialogActions>
        <Button variant="primary" onClick={onClose}>
          {t("source.kept")}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
