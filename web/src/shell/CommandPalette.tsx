/** The command palette (Ctrl/Cmd-K): pages, knowledge bases, documents, skills, rules and conversations by name. */
import { Dialog } from "@base-ui/react/dialog";
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { type KeyboardEvent, useDeferredValue, useEffect, useId, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { useReturnFocus } from "@/components/overlays/returnFocus";
import styles from "./CommandPalette.module.css";
import { findEntries, type PaletteEntry } from "./paletteSources";
import { DESTINATIONS, isOpen } from "./Shell";

export interface PaletteHandle {
  isOpen: boolean;
  show: () => void;
  hide: () => void;
  /** The keys that open it, as this system writes them. */
  shortcut: string;
}

const IS_APPLE = /mac|iphone|ipad/i.test(navigator.userAgent);

export function usePalette(): PaletteHandle {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    function press(event: globalThis.KeyboardEvent) {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        setOpen((open) => !open);
      }
    }
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  return { isOpen, show: () => setOpen(true), hide: () => setOpen(false), shortcut: IS_APPLE ? "⌘K" : "Ctrl K" };
}

export function CommandPalette({ handle }: { handle: PaletteHandle }) {
  const returnFocus = useReturnFocus(handle.isOpen);
  return (
    <Dialog.Root open={handle.isOpen} onOpenChange={(open) => (open ? handle.show() : handle.hide())}>
      <Dialog.Portal>
        <Dialog.Backdrop className={styles.backdrop} />
        <Dialog.Popup finalFocus={returnFocus} className={styles.popup}>
          {handle.isOpen && <Finder onDone={handle.hide} />}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function usePages(words: string): PaletteEntry[] {
  const { t } = useTranslation();
  const may = useMay();
  return DESTINATIONS.filter((destination) => isOpen(destination, may))
    .map(({ to, label }) => ({ kind: "page" as const, title: t(label), href: to }))
    .filter(({ title }) => title.toLowerCase().includes(words.toLowerCase()));
}

function Finder({ onDone }: { onDone: () => void }) {
  const { t } = useTranslation();
  const router = useRouter();
  const may = useMay();
  const id = useId();
  const [words, setWords] = useState("");
  const [active, setActive] = useState(0);
  const asked = useDeferredValue(words.trim());
  const pages = usePages(asked);
  const found = useQuery({
    queryKey: ["palette", asked],
    queryFn: ({ signal }) => findEntries(asked, may, signal),
    enabled: asked.length > 0,
    placeholderData: (earlier) => earlier,
  });
  const entries = useMemo(() => [...pages, ...(asked ? (found.data ?? []) : [])], [pages, asked, found.data]);
  const current = Math.min(active, entries.length - 1);

  function open(entry: PaletteEntry) {
    onDone();
    router.history.push(entry.href);
  }

  function press(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && entries.length) {
      event.preventDefault();
      setActive((current + step + entries.length) % entries.length);
    } else if (event.key === "Enter" && !event.nativeEvent.isComposing && entries[current]) {
      event.preventDefault();
      open(entries[current]);
    }
  }

  return (
    <>
      <Dialog.Title className="visually-hidden">{t("palette.open")}</Dialog.Title>
      <input
        // biome-ignore lint/a11y/noAutofocus: the palette is opened to type into it
        autoFocus
        role="combobox"
        aria-expanded
        aria-controls={`${id}-list`}
        aria-activedescendant={entries.length ? `${id}-${current}` : undefined}
        aria-label={t("palette.open")}
        placeholder={t("palette.placeholder")}
        className={styles.input}
        value={words}
        onChange={(event) => {
          setWords(event.target.value);
          setActive(0);
        }}
        onKeyDown={press}
      />
      <div id={`${id}-list`} role="listbox" aria-label={t("palette.results")} className={styles.list}>
        {entries.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input has the keys
          <div
            key={`${entry.kind} ${entry.href}`}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === current}
            className={styles.entry}
            onClick={() => open(entry)}
            onMouseMove={() => setActive(index)}
          >
            <span className={styles.title}>{entry.title}</span>
            <span className={styles.kind}>
              {entry.place ? t("palette.in", { name: entry.place }) : t(`palette.kind.${entry.kind}`)}
            </span>
          </div>
        ))}
        {!entries.length && !found.isFetching && <p className={styles.none}>{t("palette.none")}</p>}
      </div>
    </>
  );
}
