/** The resources and the prompts of an MCP server, and what they hold. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, type ReactElement, useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { api, call, type Schemas } from "@/api/client";
import { Button } from "@/components/Button";
import { Badge } from "@/components/feedback/Badge";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { Notice } from "@/components/feedback/Notice";
import { TextField } from "@/components/forms/Field";
import styles from "@/components/forms/Form.module.css";
import { Item, ItemList } from "@/components/layout/ItemList";
import { Section, Skeleton } from "@/components/layout/Page";
import { Pager } from "@/components/layout/Pager";
import { plainText } from "@/components/plainText";
import { formatNumber } from "@/i18n/format";
import {
  type McpConnection,
  type McpPrompt,
  type McpResource,
  promptsQuery,
  resourcesQuery,
} from "./connectionQueries";

export function ResourceList({ connection }: { connection: McpConnection }): ReactElement {
  const { t } = useTranslation("connections");
  const [page, setPage] = useState(1);
  const { data, error, refetch } = useQuery(resourcesQuery(connection.id, page));
  return (
    <Section title={t("mcp.resources")}>
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={5} />}
      {data?.total === 0 && <p className={styles.hint}>{t("mcp.no_resources")}</p>}
      {data && data.items.length > 0 && (
        <ItemList label={t("mcp.resources")}>
          {data.items.map((resource) => (
            <ResourceItem key={resource.uri} resource={resource} connectionId={connection.id} />
          ))}
        </ItemList>
      )}
      {data && <Pager page={page} pages={data.pages} onPage={setPage} />}
    </Section>
  );
}

function ResourceItem({ resource, connectionId }: { resource: McpResource; connectionId: string }) {
  const { t } = useTranslation("connections");
  const { uri, name, description, mime_type: mimeType, is_template: isTemplate } = resource;
  const reads = useMay()("agent:run");
  const [isOpen, setOpen] = useState(false);
  const [draft, setDraft] = useState(uri);
  const reading = useMutation({
    mutationFn: (of: string) =>
      call(
        api.POST("/api/v1/mcp/connections/{connection_id}/resources/read", {
          params: { path: { connection_id: connectionId } },
          body: { uri: of },
        }),
      ),
  });
  function toggle() {
    setOpen(!isOpen);
    if (!isOpen && !isTemplate) reading.mutate(uri);
  }
  function submit(event: FormEvent) {
    event.preventDefault();
    reading.mutate(draft);
  }
  return (
    <Item
      title={plainText(name)}
      badges={isTemplate && <Badge>{t("mcp.template")}</Badge>}
      text={
        <>
          <p>
            <code>{plainText(uri)}</code>
          </p>
          {description && <p className={styles.lines}>{plainText(description)}</p>}
        </>
      }
      facts={[[t("mcp.mime_type"), plainText(mimeType)]]}
      actions={
        reads && (
          <Button aria-expanded={isOpen} onClick={toggle}>
            {t("mcp.read")}
          </Button>
        )
      }
    >
      {isOpen && (
        <>
          {isTemplate && (
            <form className={styles.form} onSubmit={submit}>
              <TextField
                label={t("mcp.uri")}
                hint={t("mcp.uri_hint")}
                value={draft}
                spellCheck={false}
                onChange={(event) => setDraft(event.target.value)}
              />
              <div>
                <Button type="submit" variant="primary" busy={reading.isPending}>
                  {t("mcp.read")}
                </Button>
              </div>
            </form>
          )}
          <Outcome outcome={reading} />
        </>
      )}
    </Item>
  );
}

export function PromptList({ connection }: { connection: McpConnection }): ReactElement {
  const { t } = useTranslation("connections");
  const [page, setPage] = useState(1);
  const { data, error, refetch } = useQuery(promptsQuery(connection.id, page));
  return (
    <Section title={t("mcp.prompts")}>
      {error && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={5} />}
      {data?.total === 0 && <p className={styles.hint}>{t("mcp.no_prompts")}</p>}
      {data && data.items.length > 0 && (
        <ItemList label={t("mcp.prompts")}>
          {data.items.map((prompt) => (
            <PromptItem key={prompt.name} prompt={prompt} connectionId={connection.id} />
          ))}
        </ItemList>
      )}
      {data && <Pager page={page} pages={data.pages} onPage={setPage} />}
    </Section>
  );
}

function PromptItem({ prompt, connectionId }: { prompt: McpPrompt; connectionId: string }) {
  const { t } = useTranslation("connections");
  const { name, description } = prompt;
  const reads = useMay()("agent:run");
  const [isOpen, setOpen] = useState(false);
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const getting = useMutation({
    mutationFn: () =>
      call(
        api.POST("/api/v1/mcp/connections/{connection_id}/prompts/{prompt_name}/get", {
          params: { path: { connection_id: connectionId, prompt_name: name } },
          body: { arguments: { ...values } },
        }),
      ),
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    getting.mutate();
  }
  return (
    <Item
      title={<code>{plainText(name)}</code>}
      text={description && <p className={styles.lines}>{plainText(description)}</p>}
      actions={
        reads && (
          <Button aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {t("mcp.fill_in")}
          </Button>
        )
      }
    >
      {isOpen && (
        <form className={styles.form} onSubmit={submit}>
          {prompt.arguments.map(({ name: argument, description: hint, is_required: isRequired }) => (
            <TextField
              key={argument}
              label={isRequired ? t("mcp.required", { name: plainText(argument) }) : plainText(argument)}
              hint={plainText(hint)}
              required={isRequired}
              value={values[argument] ?? ""}
              onChange={(event) => setValues({ ...values, [argument]: event.target.value })}
            />
          ))}
          <div>
            <Button type="submit" variant="primary" busy={getting.isPending}>
              {t("mcp.get")}
            </Button>
          </div>
          <Outcome outcome={getting} />
        </form>
      )}
    </Item>
  );
}

interface OutcomeProps {
  outcome: { data: Schemas["McpTextAnswer"] | undefined; error: Error | null; isPending: boolean };
}

function Outcome({ outcome: { data, error, isPending } }: OutcomeProps) {
  const { t } = useTranslation("connections");
  return (
    <>
      {error && <ErrorNotice error={error} />}
      <div role="status">
        {isPending && <Skeleton lines={3} />}
        {data?.parts.map((part, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts have no names and never move
          <Part key={index} part={part} />
        ))}
        {data?.is_cut && <Notice tone="warning">{t("mcp.text_cut")}</Notice>}
      </div>
    </>
  );
}

function Part({ part }: { part: Schemas["McpTextPart"] }) {
  const { t } = useTranslation("connections");
  const { source, mime_type: mimeType, text, size } = part;
  return (
    <>
      <p className={styles.hint}>
        {plainText(source)} {plainText(mimeType)}
      </p>
      {text === null ? (
        <p>{t("mcp.no_text", { size: formatNumber(size) })}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <pre tabIndex={0} className={styles.code}>
          {plainText(text)}
        </pre>
      )}
    </>
  );
}
