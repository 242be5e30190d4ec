/** Numbers, sizes and times as the chosen language writes them. */
import { currentLanguage } from ".";

const locale = () => (currentLanguage() === "zh" ? "zh-CN" : "en");

/** Formatters by language and options: to make one takes longer than many uses of it, and a list has hundreds. */
function formatters<Options, Formatter>(make: (locale: string, options?: Options) => Formatter) {
  const made = new Map<string, Formatter>();
  return (options?: Options): Formatter => {
    const key = `${locale()} ${JSON.stringify(options)}`;
    const formatter = made.get(key) ?? make(locale(), options);
    made.set(key, formatter);
    return formatter;
  };
}

const numberFormat = formatters((at, options?: Intl.NumberFormatOptions) => new Intl.NumberFormat(at, options));
const dateTimeFormat = formatters((at, options?: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(at, options));
const relativeFormat = formatters(
  (at, options?: Intl.RelativeTimeFormatOptions) => new Intl.RelativeTimeFormat(at, options),
);

export function formatNumber(value: number, options?: Intl.NumberFormatOptions): string {
  return numberFormat(options).format(value);
}

export function formatPercent(fraction: number): string {
  return formatNumber(fraction, { style: "percent", maximumFractionDigits: 0 });
}

const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

export function formatBytes(bytes: number): string {
  const step = Math.min(UNITS.length - 1, bytes > 0 ? Math.floor(Math.log(bytes) / Math.log(1024)) : 0);
  return formatNumber(bytes / 1024 ** step, {
    style: "unit",
    unit: UNITS[step],
    unitDisplay: step ? "short" : "long",
    maximumFractionDigits: step > 1 ? 1 : 0,
  });
}

export function formatDateTime(iso: string): string {
  return dateTimeFormat({ dateStyle: "medium", timeStyle: "short" }).format(new Date(iso));
}

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["week", 604_800],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];

/** Such as "3 minutes ago"; times in the future come out as "in 3 minutes". */
export function formatRelative(iso: string, now = Date.now()): string {
  const seconds = (new Date(iso).getTime() - now) / 1000;
  const relative = relativeFormat({ numeric: "auto" });
  for (const [unit, size] of STEPS)
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  return relative.format(0, "second");
}

/** A length of time, such as "2 min"; the largest unit alone. */
export function formatDuration(seconds: number): string {
  const units = [
    ["day", 86_400],
    ["hour", 3600],
    ["minute", 60],
  ] as const;
  const [unit, size] = units.find(([, least]) => seconds >= least) ?? (["second", 1] as const);
  return formatNumber(Math.max(1, Math.round(seconds / size)), { style: "unit", unit, unitDisplay: "short" });
}
