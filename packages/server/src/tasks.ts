export {
  serveTasks,
  taskTool,
  type TaskToolCallback,
  type TaskToolConfig,
  type TaskToolContext,
} from "./tasks/serve-tasks.ts";
export type { RunningTask } from "./tasks/task-legs.ts";
