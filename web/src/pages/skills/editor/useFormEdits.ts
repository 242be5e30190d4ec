/** Changes of single fields of a text: the server writes them, every other byte stays. */
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo, useRef, useState } from "react";
import { api, call, type Schemas } from "@/api/client";
import { keepReport } from "./useSkillReport";

type Form = Schemas["SkillForm"];
export type SkillField = keyof Form;

export interface FormEdits {
  /** Change a field; what it could not be is in `errors`. */
  edit: <F extends SkillField>(field: F, value: Form[F]) => Promise<void>;
  errors: Partial<Record<SkillField, unknown>>;
  /** Wait until all changes that were asked for are in the text. */
  settled: () => Promise<void>;
}

const MOST_TRIES = 5;

export function useFormEdits(
  currentText: () => string,
  onText: (text: string) => void,
  skillId: string | null,
): FormEdits {
  const queries = useQueryClient();
  const [errors, setErrors] = useState<FormEdits["errors"]>({});
  const queue = useRef(Promise.resolve());

  const edit = useCallback(
    <F extends SkillField>(field: F, value: Form[F]) => {
      async function write() {
        for (let tries = 0; tries < MOST_TRIES; tries++) {
          const content = currentText();
          // The document gives `name` and `description` defaults, which makes them look needed.
          const changes = { [field]: value } as unknown as Form;
          const body = { content, changes, ...(skillId && { skill_id: skillId }) };
          const { content: written, ...report } = await call(api.POST("/api/v1/skills/edit", { body }));
          // Somebody typed meanwhile: what came back says nothing of that.
          if (currentText() !== content) continue;
          keepReport(queries, written, skillId, report);
          onText(written);
          return;
        }
      }
      queue.current = queue.current.then(async () => {
        try {
          await write();
          setErrors(({ [field]: _, ...others }) => others);
        } catch (error) {
          setErrors((others) => ({ ...others, [field]: error }));
        }
      });
      return queue.current;
    },
    [currentText, onText, skillId, queries],
  );

  const settled = useCallback(() => queue.current, []);
  return useMemo(() => ({ edit, errors, settled }), [edit, errors, settled]);
}
