declare module "virtual:agent-templates" {
  const templates: import("./pages/agents/templates").Template[];
  export default templates;
}
