/** The line for the query, with the queries asked before. */
import { History, Search } from "lucide-react";
import { type FormEvent, useEffect, useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { Button, IconButton } from "@/components/Button";
import { Menu } from "@/components/overlays/Menu";
import styles from "./QueryForm.module.css";
import { recentQueries, rememberQuery } from "./recentQueries";

const MOST_CHARACTERS = 4000;

export function QueryForm({
  query,
  place,
  busy,
  onAsk,
}: {
  query: string | undefined;
  /** Where it is asked: the recent queries are kept for each place. */
  place: string;
  busy: boolean;
  onAsk: (query: string) => void;
}) {
  const { t } = useTranslation(["search", "common"]);
  const id = useId();
  const [words, setWords] = useState(query ?? "");
  // Another address was opened, such as the one before.
  useEffect(() => setWords(query ?? ""), [query]);
  const recent = recentQueries(place);

  function ask(text: string) {
    const asked = text.trim();
    if (!asked) return;
    rememberQuery(place, asked);
    onAsk(asked);
  }
  function submit(event: FormEvent) {
    event.preventDefault();
    ask(words);
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: the element `search` is too new for some browsers
    <form role="search" className={styles.form} onSubmit={submit}>
      <label htmlFor={id} className="visually-hidden">
        {t("query.label")}
      </label>
      <input
        id={id}
        type="search"
        className={styles.input}
        value={words}
        maxLength={MOST_CHARACTERS}
        placeholder={t("query.placeholder")}
        onChange={(event) => setWords(event.target.value)}
      />
      {recent.length > 0 && (
        <Menu
          trigger={<IconButton icon={History} label={t("query.recent")} variant="secondary" />}
          entries={recent.map((each) => ({ label: each, onSelect: () => ask(each) }))}
        />
      )}
      <Button type="submit" variant="primary" icon={Search} busy={busy} disabled={!words.trim()}>
        {t("common:action.search")}
      </Button>
    </form>
  );
}
