export {
  createStudio,
  type Operator,
  type OperatorMay,
  type StudioNames,
  type StudioOptions,
} from "@durable-mcp/sessions/studio";
