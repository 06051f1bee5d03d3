/** A worklet built into one text, by the plugin in `vite.embed.config.ts`. */
declare module "virtual:worklet/*" {
  const code: string;
  export default code;
}
