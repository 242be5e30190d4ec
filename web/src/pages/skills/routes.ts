import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { shellRoute } from "@/routes";
import { readComparedVersions, readLibrarySearch, readSideSearch, readTestSearch } from "./searchParams";

/** The frame of one skill: its name, its state and tabs. */
const skillRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: "/skills/$skillId",
  component: lazyRouteComponent(() => import("./SkillLayout"), "SkillLayout"),
});

const skillTabs = [
  createRoute({
    getParentRoute: () => skillRoute,
    path: "/",
    validateSearch: readSideSearch,
    component: lazyRouteComponent(() => import("./editor/SkillEditor"), "SkillEditor"),
  }),
  createRoute({
    getParentRoute: () => skillRoute,
    path: "/versions",
    validateSearch: readComparedVersions,
    component: lazyRouteComponent(() => import("./versions/VersionList"), "VersionList"),
  }),
  createRoute({
    getParentRoute: () => skillRoute,
    path: "/files",
    component: lazyRouteComponent(() => import("./SkillFiles"), "SkillFiles"),
  }),
  createRoute({
    getParentRoute: () => skillRoute,
    path: "/tests",
    validateSearch: readTestSearch,
    component: lazyRouteComponent(() => import("./trials/TriggerTests"), "TriggerTests"),
  }),
  createRoute({
    getParentRoute: () => skillRoute,
    path: "/comparison",
    component: lazyRouteComponent(() => import("./trials/AnswerComparison"), "AnswerComparison"),
  }),
  createRoute({
    getParentRoute: () => skillRoute,
    path: "/settings",
    component: lazyRouteComponent(() => import("./settings/SkillSettings"), "SkillSettings"),
  }),
] as const;

export const skillRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: "/skills",
    validateSearch: readLibrarySearch,
    component: lazyRouteComponent(() => import("./library/SkillList"), "SkillList"),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: "/skills/new",
    validateSearch: readSideSearch,
    component: lazyRouteComponent(() => import("./library/NewSkill"), "NewSkill"),
  }),
  skillRoute.addChildren([...skillTabs]),
] as const;
