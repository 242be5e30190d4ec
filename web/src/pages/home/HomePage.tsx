/** Home: a first question, what needs a person, what rules said, what is being processed, and the latest conversations. */
import { useTranslation } from "react-i18next";
import { useAccount, useMay } from "@/api/account";
import { Page } from "@/components/layout/Page";
import { AskBox } from "./AskBox";
import { AttentionList } from "./AttentionList";
import styles from "./HomePage.module.css";
import { ModelNotice } from "./ModelNotice";
import { ProcessingList } from "./ProcessingList";
import { RecentConversations } from "./RecentConversations";
import { UnreadNotifications } from "./UnreadNotifications";

export function HomePage() {
  const { t } = useTranslation("home");
  const name = useAccount()?.username;
  const may = useMay();
  return (
    <Page title={name ? t("welcome", { name }) : t("title")}>
      {may("models:view") && <ModelNotice />}
      {may("agent:run") && <AskBox />}
      <div className={styles.columns}>
        <div className={styles.column}>
          <AttentionList />
          <UnreadNotifications />
          {may("session:view") && <RecentConversations />}
        </div>
        {may("kb:view") && <ProcessingList />}
      </div>
    </Page>
  );
}
