/** A password that somebody chooses, with the rule that the server holds it to. */
import { useTranslation } from "react-i18next";
import { TextField } from "./Field";

interface Props {
  label: string;
  value: string;
  onChange: (password: string) => void;
}

export function NewPasswordField({ label, value, onChange }: Props) {
  const { t } = useTranslation();
  return (
    <TextField
      label={label}
      hint={t("sign_in.password_rule")}
      type="password"
      minLength={8}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      autoComplete="new-password"
      required
    />
  );
}
