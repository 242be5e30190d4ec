import admin from "./admin.json";
import chat from "./chat.json";
import common from "./common.json";
import connections from "./connections.json";
import documents from "./documents.json";
import home from "./home.json";
import knowledge from "./knowledge.json";
import profile from "./profile.json";
import rules from "./rules.json";
import search from "./search.json";
import skills from "./skills.json";

export default { admin, chat, common, connections, documents, home, knowledge, profile, rules, search, skills };
