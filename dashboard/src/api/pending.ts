/**
 * Types of endpoints that `docs/openapi.json` does not hold yet. Each moves to
 * `schema.d.ts` with `npm run schema`; then its entry here goes.
 */
export {};
