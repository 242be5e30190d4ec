/** The sources that a knowledge base is kept in step with. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Plus, RefreshCw } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useMay } from "@/api/account";
import { Button } from "@/components/Button";
import { ErrorNotice } from "@/components/feedback/ErrorNotice";
import { EmptyState } from "@/components/feedback/Notice";
import { ItemList } from "@/components/layout/ItemList";
import { Section, Skeleton } from "@/components/layout/Page";
import { SourceForm } from "./SourceForm";
import { SourceItem } from "./SourceItem";
import { sourcesQuery } from "./sourceQueries";

const route = getRouteApi("/shell/knowledge-bases/$kbId/sources");

export function SourceList() {
  const { t } = useTranslation("knowledge");
  const { kbId } = route.useParams();
  const mayWrite = useMay()("kb:write");
  const [adds, setAdds] = useState(false);
  const { data, error, refetch } = useQuery(sourcesQuery(kbId));
  const add = mayWrite && (
    <Button icon={Plus} onClick={() => setAdds(true)}>
      {t("source.add")}
    </Button>
  );
  return (
    <>
      {error && !data && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={4} />}
      {data?.length === 0 && (
        <EmptyState icon={RefreshCw} title={t("source.none")} action={add}>
          {t("source.none_text")}
        </EmptyState>
      )}
      {data && data.length > 0 && (
        <Section title={t("source.count", { count: data.length })} actions={add}>
          <ItemList label={t("tab.sources")}>
            {data.map((source) => (
              <SourceItem key={source.id} source={source} mayWrite={mayWrite} />
            ))}
          </ItemList>
        </Section>
      )}
      {adds && <SourceForm kbId={kbId} onClose={() => setAdds(false)} />}
    </>
  );
}
