/** Sign in with a password or through the company's single sign-on; make an account where that is open. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { KeyRound, Languages } from "lucide-react";
import { type FormEvent, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, call } from "@/api/client";
import { useConnection } from "@/api/connection";
import { ApiError } from "@/api/errors";
import { signIn } from "@/api/session";
import { Button, IconButton } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { TextField } from "@/components/forms/Field";
import { useTitle } from "@/components/layout/Page";
import { Menu } from "@/components/overlays/Menu";
import { useAppearanceEntries } from "@/shell/AccountMenu";
import styles from "./SignInPage.module.css";

const route = getRouteApi("/sign-in");

export function SignInPage() {
  const { t } = useTranslation();
  const appearance = useAppearanceEntries();
  const [registers, setRegisters] = useState(false);
  useTitle(t("sign_in.title"));
  return (
    <main className={styles.page}>
      <div className={styles.card}>
        <header className={styles.header}>
          <img src="/favicon.svg" alt="" width={36} height={36} />
          <h1>Agentex</h1>
          <Menu trigger={<IconButton icon={Languages} label={t("nav.appearance")} />} entries={appearance} />
        </header>
        <p className={styles.lead}>{t("sign_in.lead")}</p>
        <SingleSignOn />
        {registers ? <RegisterForm /> : <PasswordForm />}
        <Button variant="ghost" size="s" onClick={() => setRegisters(!registers)}>
          {t(registers ? "sign_in.has_account" : "sign_in.no_account")}
        </Button>
      </div>
    </main>
  );
}

function SingleSignOn() {
  const { t } = useTranslation();
  const { next } = route.useSearch();
  const [error, setError] = useState<unknown>(null);
  const offer = useQuery({ queryKey: ["sign-on"], queryFn: () => call(api.GET("/api/v1/auth/oidc")) });

  // The provider sends the browser back here with a code that can be used once.
  useEffect(() => {
    const code = new URLSearchParams(window.location.hash.slice(1)).get("sso_code");
    if (!code) return;
    window.history.replaceState(window.history.state, "", window.location.pathname + window.location.search);
    call(api.POST("/api/v1/auth/oidc/token", { body: { code } })).then(signIn, setError);
  }, []);

  if (!offer.data?.enabled) return error ? <ErrorNotice error={error} /> : null;
  const back = `/sign-in${next ? `?next=${encodeURIComponent(next)}` : ""}`;
  return (
    <>
      {error !== null && <ErrorNotice error={error} />}
      <Button
        variant="primary"
        icon={KeyRound}
        onClick={() => window.location.assign(`${offer.data.login_path}?return_to=${encodeURIComponent(back)}`)}
      >
        {t("sign_in.sso")}
      </Button>
      <p className={styles.or}>{t("sign_in.or")}</p>
    </>
  );
}

/** What a form sends, while it does and when it failed. */
function useSubmit(send: (fields: Record<string, string>) => Promise<void>) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const connection = useConnection();
  useEffect(() => {
    // What kept the form from being sent has passed.
    if (connection === "fine") setError((last: unknown) => (last instanceof ApiError && last.code === 0 ? null : last));
  }, [connection]);
  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await send(Object.fromEntries(new FormData(event.currentTarget)) as Record<string, string>);
    } catch (cause) {
      setError(cause);
      setBusy(false);
    }
  }
  return { busy, error, submit };
}

async function logIn(username: string, password: string): Promise<void> {
  signIn(await call(api.POST("/api/v1/auth/login", { body: { username, password } })));
}

function PasswordForm() {
  const { t } = useTranslation();
  const { busy, error, submit } = useSubmit(({ username = "", password = "" }) => logIn(username, password));
  return (
    <form className={styles.form} onSubmit={submit}>
      {error !== null && <ErrorNotice error={error} />}
      <TextField name="username" label={t("sign_in.name")} autoComplete="username" required autoFocus />
      <TextField
        name="password"
        type="password"
        label={t("sign_in.password")}
        autoComplete="current-password"
        required
      />
      <Button type="submit" variant="primary" busy={busy}>
        {t("sign_in.submit")}
      </Button>
    </form>
  );
}

function RegisterForm() {
  const { t } = useTranslation();
  const { busy, error, submit } = useSubmit(async ({ username = "", email = "", password = "" }) => {
    await call(api.POST("/api/v1/auth/register", { body: { username, email, password } }));
    await logIn(username, password);
  });
  return (
    <form className={styles.form} onSubmit={submit}>
      {error !== null && <ErrorNotice error={error} />}
      <TextField name="username" label={t("sign_in.new_name")} autoComplete="username" required autoFocus />
      <TextField name="email" type="email" label={t("sign_in.email")} autoComplete="email" required />
      <TextField
        name="password"
        type="password"
        label={t("sign_in.password")}
        hint={t("sign_in.password_rule")}
        autoComplete="new-password"
        required
      />
      <Button type="submit" variant="primary" busy={busy}>
        {t("sign_in.register")}
      </Button>
    </form>
  );
}
