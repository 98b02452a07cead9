export { checkInputResponses } from "./check-input-responses.ts";
export type {
  ElicitationRequest,
  FormField,
  FormQuestion,
  FormSchema,
  InputRequest,
  InputRequests,
  InputResponse,
  InputResponses,
  UrlQuestion,
} from "./input-request.ts";
