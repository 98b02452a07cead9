export {
  acceptRequest,
  type Choice,
  inputLimits,
  type QuestionField,
  type QuestionUrl,
  type ReadRequest,
  readRequest,
} from "./questions/read-request.ts";
